// Nests template literals.
// submits: its value
// answers: 400 code_syntax
// answers: 500 task_blocked
// answers: 500 task_threw
// answers: 200
"return " + "`${".repeat(20_000) + "1" + "}`".repeat(20_000)
