// Attaches an inspector to the main thread from a worker, and evaluates code there.
// answers: 200 /ENOENT|ERR_|no answer/
const { Worker } = require("node:worker_threads");
const text = `
  const { Session } = require("node:inspector");
  const { parentPort, workerData } = require("node:worker_threads");
  const session = new Session();
  session.connectToMainThread();
  const expression = "process.getBuiltinModule('fs').readFileSync('" + workerData + "')";
  session.post("Runtime.evaluate", { expression }, (error, answer) => parentPort.postMessage(error ?? answer));
`;
return new Promise((resolve) => {
  new Worker(text, { eval: true, workerData: CANARY_FILE }).on("message", resolve).on("error", resolve);
  setTimeout(resolve, 1_000, "no answer");
});
