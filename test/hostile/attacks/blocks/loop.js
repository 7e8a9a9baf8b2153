// Loops for ever.
// answers: 500 task_blocked
for (;;);
