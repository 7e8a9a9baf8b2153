// Nests classes in extends clauses.
// submits: its value
// answers: 400 code_syntax
// answers: 500 task_blocked
// answers: 500 task_threw
"return " + "class extends ".repeat(20_000) + "Object" + "{}".repeat(20_000)
