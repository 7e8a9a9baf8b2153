// Starts an endless loop after an await.
// answers: 500 task_blocked
await new Promise((resolve) => setTimeout(resolve, 10));
for (;;);
