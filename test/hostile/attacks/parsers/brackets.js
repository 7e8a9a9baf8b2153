// Nests 300 000 brackets that are all closed.
// submits: its value
// answers: 400 code_syntax
// answers: 500 task_blocked
// answers: 500 task_threw
"(".repeat(300_000) + "1" + ")".repeat(300_000)
