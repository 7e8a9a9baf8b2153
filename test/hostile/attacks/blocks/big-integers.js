// Multiplies numbers of millions of digits.
// answers: 500 task_blocked
// answers: 500 task_threw
let n = 3n;
for (;;) n = (n * n) % (1n << 8_000_000n);
