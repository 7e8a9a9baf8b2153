// Breaks the stripper, and then sends valid types: another guest must have replaced the broken one.
// as: application/typescript
// submits: its value
// answers: 400 code_syntax
// answers: 200
"const x: number = " + "[".repeat(3_000) + "1" + "]".repeat(3_000) + "; return x"
// then, in the same container
// as: application/typescript
// answers: 200 42
const answer: number = 42; return answer
