// Returns a value whose toJSON never returns.
// answers: 500 task_blocked
return { toJSON() { for (;;); } };
