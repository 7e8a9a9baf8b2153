// Keeps objects for ever, and lets go of its event loop between.
// answers: 500 task_memory
// answers: 500 task_blocked
const all = [];
for (;;) {
  all.push(new Array(100_000).fill({}));
  await new Promise(setImmediate);
}
