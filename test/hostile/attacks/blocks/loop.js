// Runs an endless loop.
// answers: 500 task_blocked
for (;;);
