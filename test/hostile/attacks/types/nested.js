// Nests 1 500 brackets in TypeScript, which breaks the memory of Node's stripper for the rest of its thread.
// as: application/typescript
// submits: its value
// answers: 400 code_syntax
// answers: 200 1
"const x: number = " + "(".repeat(1_500) + "1" + ")".repeat(1_500) + "; return x"
