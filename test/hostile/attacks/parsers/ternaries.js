// Nests conditional expressions.
// submits: its value
// answers: 400 code_syntax
// answers: 500 task_blocked
// answers: 500 task_threw
// answers: 200
"return " + "1?".repeat(50_000) + "1" + ":0".repeat(50_000)
