// Nests destructuring patterns deeper than the stack.
// submits: its value
// answers: 400 code_syntax
// answers: 500 task_blocked
// answers: 500 task_threw
"const " + "[".repeat(100_000) + "x" + "]".repeat(100_000) + " = []; return 1"
