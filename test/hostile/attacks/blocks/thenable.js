// Returns a thenable whose then never returns.
// answers: 500 task_blocked
return { then() { for (;;); } };
