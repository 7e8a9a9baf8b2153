// Sends a megabyte of comments, the last of which never ends.
// submits: its value
// answers: 400 code_syntax
// answers: 500 task_blocked
"/**/".repeat(250_000) + "/*"
