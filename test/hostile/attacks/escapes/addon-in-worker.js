// Writes native code and loads it as an addon, in a thread that allows addons.
// answers: 200 ["ERR_DLOPEN_DISABLED","ERR_DLOPEN_DISABLED","ERR_DLOPEN_DISABLED"]
// after: library
const { Worker } = require("node:worker_threads");
const text = `
  const { parentPort, workerData } = require("node:worker_threads");
  const ways = [() => process.dlopen({ exports: {} }, workerData), () => require(workerData), () => import(workerData)];
  Promise.all(
    ways.map(async (load) => {
      try {
        await load();
        return "loaded";
      } catch (error) {
        return error.code;
      }
    }),
  ).then((codes) => parentPort.postMessage(codes));
`;
const worker = new Worker(text, {
  eval: true,
  workerData: writeLibrary("library.node"),
  execArgv: ["--addons", "--experimental-addon-modules"],
  env: { NODE_OPTIONS: "--addons --experimental-addon-modules" },
});
return new Promise((resolve, reject) => worker.on("message", resolve).on("error", reject));
