// Stores objects without end and without a pause.
// answers: 500 task_memory
// answers: 500 task_blocked
const all = [];
for (;;) all.push(new Array(10_000).fill(0).map((_, n) => ({ n })));
