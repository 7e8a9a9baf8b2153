// Nests functions, each of which is parsed again by the function around it.
// submits: its value
// answers: 400 code_syntax
// answers: 200
// answers: 500 task_threw
// answers: 500 task_blocked
"return 1;" + "function f(){".repeat(8_000) + "}".repeat(8_000)
