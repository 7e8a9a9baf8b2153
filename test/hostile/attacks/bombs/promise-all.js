// Waits for millions of promises at once.
// answers: 500 task_memory
// answers: 500 task_blocked
// answers: 500 task_threw
return Promise.all(Array.from({ length: 20_000_000 }, async () => null));
