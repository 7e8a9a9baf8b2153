// Returns a small value whose JSON is far larger.
// answers: 500 result_too_large
// answers: 500 task_memory
// answers: 500 task_blocked
return Array.from({ length: 3_000_000 }, (_, n) => n);
