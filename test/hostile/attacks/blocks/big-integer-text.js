// Converts a number of millions of digits to text.
// answers: 500 task_blocked
// answers: 500 task_threw
for (;;) (1n << 20_000_000n).toString();
