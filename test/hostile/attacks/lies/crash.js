// Crashes its process with a fatal error of Node.
// answers: 500 task_exited
const { Worker } = require("node:worker_threads");
const text = `
  require("internal/test/binding").internalBinding("v8").setFlagsFromString("--allow-natives-syntax");
  new Function("%SystemBreak()")();
`;
const worker = new Worker(text, { eval: true, execArgv: ["--expose-internals"] });
return new Promise((resolve, reject) => worker.on("exit", resolve).on("error", reject));
