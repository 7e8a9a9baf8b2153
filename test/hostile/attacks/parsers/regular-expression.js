// Contains a regular expression that nests deeper than any stack.
// submits: its value
// answers: 200 true
// answers: 500 task_memory
// answers: 400 code_syntax
// answers: 500 task_threw
// answers: 500 task_blocked
"return /" + "(?:".repeat(200_000) + ")".repeat(200_000) + "/.test('')"
