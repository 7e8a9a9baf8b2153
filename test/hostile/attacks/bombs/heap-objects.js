// Stores objects without end, with turns of the event loop between them.
// answers: 500 task_memory
// answers: 500 task_blocked
const all = [];
for (;;) {
  all.push(new Array(100_000).fill({}));
  await new Promise(setImmediate);
}
