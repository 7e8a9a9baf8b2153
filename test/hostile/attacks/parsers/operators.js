// Chains as many operators as fit.
// submits: its value
// answers: 400 code_syntax
// answers: 500 task_blocked
// answers: 500 task_threw
// answers: 200
"return 1" + "+1".repeat(400_000)
