// Repeats what the harness looks for before it parses, so that each look goes over the whole text.
// submits: its value
// answers: 400 code_syntax
// answers: 500 task_blocked
"a<b ".repeat(250_000)
