// Connects from a worker, in which the guest's sockets may be missing.
// answers: 200 "EGRESS_DENIED"
const { Worker } = require("node:worker_threads");
const text = `
  const { parentPort, workerData } = require("node:worker_threads");
  const socket = require("node:net").connect(workerData, "127.0.0.1");
  socket.on("connect", () => parentPort.postMessage("connected")).on("error", (error) => parentPort.postMessage(error.code));
`;
return new Promise((resolve, reject) => new Worker(text, { eval: true, workerData: CANARY_PORT }).on("message", resolve).on("error", reject));
