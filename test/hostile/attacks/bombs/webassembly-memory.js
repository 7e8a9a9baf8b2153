// Grows a WebAssembly memory and touches every page of it.
// answers: 500 task_memory
// answers: 500 task_threw
// answers: 500 task_blocked
const memory = new WebAssembly.Memory({ initial: 1, maximum: 65_536 });
for (;;) {
  memory.grow(1_024);
  new Uint8Array(memory.buffer).fill(1, memory.buffer.byteLength - (64 << 20));
  await new Promise(setImmediate);
}
