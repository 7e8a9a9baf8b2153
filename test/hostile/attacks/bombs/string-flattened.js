// Stores many of the longest strings, each flattened.
// answers: 500 task_memory
// answers: 500 task_blocked
// answers: 500 task_threw
const all = [];
for (;;) all.push(Buffer.alloc(2 ** 28, 97).latin1Slice());
