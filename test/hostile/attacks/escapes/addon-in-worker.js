// Loads native code that it has written as an addon, in a thread that is started with addons.
// answers: 200 ["ERR_DLOPEN_DISABLED","ERR_DLOPEN_DISABLED"]
// answers: 200 ["ERR_DLOPEN_FAILED","ERR_DLOPEN_FAILED"]
// after: library
const { Worker } = require("node:worker_threads");
const text = `
  const { parentPort, workerData } = require("node:worker_threads");
  const codes = [() => process.dlopen({ exports: {} }, workerData), () => require(workerData)].map((load) => {
    try {
      load();
      return "loaded";
    } catch (error) {
      return error.code;
    }
  });
  parentPort.postMessage(codes);
`;
const worker = new Worker(text, {
  eval: true,
  workerData: writeLibrary("library.node"),
  execArgv: ["--addons"],
  env: { NODE_OPTIONS: "--addons" },
});
return new Promise((resolve, reject) => worker.on("message", resolve).on("error", reject));
