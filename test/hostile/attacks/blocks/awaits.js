// Awaits a settled value in an endless loop.
// answers: 500 task_blocked
for (;;) await null;
