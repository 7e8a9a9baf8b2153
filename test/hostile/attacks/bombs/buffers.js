// Allocates memory outside of V8's heap, bit by bit.
// answers: 500 task_memory
const all = [];
for (;;) {
  all.push(Buffer.alloc(4 << 20, 1));
  await new Promise(setImmediate);
}
