// Nests type arguments deeper than any type.
// as: application/typescript
// submits: its value
// answers: 400 code_syntax
// answers: 200 1
// answers: 500 task_blocked
"let x: " + "A<".repeat(5_000) + "B" + ">".repeat(5_000) + "; return 1"
