// Stores bytes in blobs, which are outside of the heap.
// answers: 500 task_memory
// answers: 500 task_threw
const all = [];
for (;;) {
  all.push(new Blob([new Uint8Array(4 << 20).fill(1)]));
  await new Promise(setImmediate);
}
