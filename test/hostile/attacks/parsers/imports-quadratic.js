// Starts many imports, and ends none.
// submits: its value
// answers: 400 code_syntax
// answers: 500 task_blocked
"import a ,\n".repeat(80_000) + "export {}"
