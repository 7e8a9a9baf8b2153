// Opens a bracket a million times and closes none.
// submits: its value
// answers: 400 code_syntax
"(".repeat(1_000_000)
