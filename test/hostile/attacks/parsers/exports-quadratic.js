// Opens many lists of exports, and closes none.
// submits: its value
// answers: 400 code_syntax
// answers: 500 task_blocked
"export {\n".repeat(100_000) + "import x from 'y'"
