// Nests 50 000 brackets in TypeScript, on which other strippers crash.
// as: application/typescript
// submits: its value
// answers: 400 code_syntax
"const x: number = " + "(".repeat(50_000) + "1" + ")".repeat(50_000) + "; return x"
