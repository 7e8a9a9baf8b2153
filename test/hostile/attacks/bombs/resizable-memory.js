// Grows a buffer in place, whose first size looks harmless.
// answers: 500 task_memory
// answers: 500 task_threw
const buffer = new ArrayBuffer(0, { maxByteLength: 2 ** 32 });
for (;;) {
  buffer.resize(buffer.byteLength + (8 << 20));
  new Uint8Array(buffer).fill(1, buffer.byteLength - (8 << 20));
  await new Promise(setImmediate);
}
