// Awaits what is there already, for ever.
// answers: 500 task_blocked
for (;;) await null;
