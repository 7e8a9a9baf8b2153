// Writes native code and loads it as an SQLite extension, in a thread.
// answers: 200 "ERR_LOAD_SQLITE_EXTENSION"
// after: library
const { Worker } = require("node:worker_threads");
const text = `
  const { DatabaseSync } = require("node:sqlite");
  const { parentPort, workerData } = require("node:worker_threads");
  try {
    new DatabaseSync(":memory:", { allowExtension: true }).loadExtension(workerData);
    parentPort.postMessage("loaded");
  } catch (error) {
    parentPort.postMessage(error.code);
  }
`;
const worker = new Worker(text, { eval: true, workerData: writeLibrary("library.so") });
return new Promise((resolve, reject) => worker.on("message", resolve).on("error", reject));
