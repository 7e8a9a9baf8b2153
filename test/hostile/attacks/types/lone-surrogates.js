// Sends lone surrogates in a text whose positions are counted.
// as: application/typescript
// submits: its value
// answers: 400 code_syntax
"let \uD800x: string = '\uDC00'; \u{1F600}\u{1F600} return ("
