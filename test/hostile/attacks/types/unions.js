// Declares a union type of a hundred thousand members.
// as: application/typescript
// submits: its value
// answers: 200 1
// answers: 500 task_blocked
"let x: " + Array.from({ length: 100_000 }, (_, n) => n).join(" | ") + "; return 1"
