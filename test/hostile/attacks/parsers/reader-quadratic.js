// Repeats the text that the harness searches before it parses, so that each search reads the whole source.
// submits: its value
// answers: 400 code_syntax
// answers: 500 task_blocked
"a<b ".repeat(250_000)
