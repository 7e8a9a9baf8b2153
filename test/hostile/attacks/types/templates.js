// Nests template literals deeply.
// as: application/typescript
// submits: its value
// answers: 400 code_syntax
"const x: string = " + "`${".repeat(4_000) + "1" + "}`".repeat(4_000) + "; return x"
