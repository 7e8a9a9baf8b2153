// Nests arrays.
// submits: its value
// answers: 400 code_syntax
// answers: 500 task_blocked
// answers: 500 task_threw
// answers: 500 result_unserializable
"return " + "[".repeat(200_000) + "]".repeat(200_000)
