// Searches a worker for the standard streams and the arguments of the service.
// answers: 200 /^\[\]$/
const { Worker } = require("node:worker_threads");
const text = `
  const { parentPort } = require("node:worker_threads");
  const all = JSON.stringify([process.argv, process.execArgv, process.env]);
  parentPort.postMessage(all.match(/CANARY|CAISSON|SECRET|admin/g) ?? []);
`;
return new Promise((resolve, reject) => new Worker(text, { eval: true }).on("message", resolve).on("error", reject));
