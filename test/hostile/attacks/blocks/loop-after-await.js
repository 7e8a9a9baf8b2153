// Loops for ever when the answer seems to be under way.
// answers: 500 task_blocked
await new Promise((resolve) => setTimeout(resolve, 10));
for (;;);
