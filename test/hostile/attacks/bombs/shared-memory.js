// Allocates shared memory and touches all of it.
// answers: 500 task_memory
// answers: 500 task_threw
const all = [];
for (;;) {
  all.push(new Uint8Array(new SharedArrayBuffer(16 << 20)).fill(1));
  await new Promise(setImmediate);
}
