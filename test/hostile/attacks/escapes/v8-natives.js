// Enables V8's native functions, past everything that the guest has patched, and ends the process with one of them.
// answers: 500 task_exited
// answers: 500 task_memory
const { Worker } = require("node:worker_threads");
const text = `
  require("internal/test/binding").internalBinding("v8").setFlagsFromString("--allow-natives-syntax");
  new Function("%AbortJS('natives')")();
`;
const worker = new Worker(text, { eval: true, execArgv: ["--expose-internals"] });
return new Promise((resolve, reject) => worker.on("exit", resolve).on("error", reject));
