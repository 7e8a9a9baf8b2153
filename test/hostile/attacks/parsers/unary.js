// Chains unary operators.
// submits: its value
// answers: 400 code_syntax
// answers: 500 task_blocked
// answers: 500 task_threw
"return " + "!".repeat(900_000) + "1"
