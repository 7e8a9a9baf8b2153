// Starts a worker after it has set NODE_OPTIONS for the whole process.
// answers: 200 /^"(ERR_|EPERM|stopped|ENOENT)/
process.env.NODE_OPTIONS = "--expose-internals --allow-addons";
const { Worker, SHARE_ENV } = require("node:worker_threads");
const text = `
  const { parentPort } = require("node:worker_threads");
  try {
    parentPort.postMessage(require("node:fs").readFileSync(${JSON.stringify(CANARY_FILE)}, "utf8"));
  } catch (error) {
    parentPort.postMessage(error.code);
  }
`;
const worker = new Worker(text, { eval: true, env: SHARE_ENV });
return new Promise((resolve) => worker.on("message", resolve).on("error", (error) => resolve(error.code ?? "stopped")));
