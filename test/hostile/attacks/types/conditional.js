// Nests conditional types.
// as: application/typescript
// submits: its value
// answers: 400 code_syntax
// answers: 200 1
"type T = " + "A extends B ? C : ".repeat(3_000) + "D; return 1"
