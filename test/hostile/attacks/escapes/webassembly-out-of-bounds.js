// Reads far outside of the memory of a WebAssembly module.
// answers: 500 task_threw out of bounds
// leaves: nothing
const bytes = Uint8Array.of(
  0, 97, 115, 109, 1, 0, 0, 0, 1, 6, 1, 96, 1, 127, 1, 127, 3, 2, 1, 0, 5, 3, 1, 0, 1,
  7, 8, 1, 4, 108, 111, 97, 100, 0, 0, 10, 9, 1, 7, 0, 32, 0, 40, 2, 0, 11,
);
const instance = new WebAssembly.Instance(new WebAssembly.Module(bytes));
return instance.exports.load(0x7fffffff);
