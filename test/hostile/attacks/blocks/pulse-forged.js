// Blocks its main thread while a worker answers the heartbeats.
// lasts: for ever
// answers: 500 task_timeout
// answers: 500 task_blocked
// answers: 500 task_exited
const { Worker } = require("node:worker_threads");
const text = `
  const { writeSync } = require("node:fs");
  const pong = Buffer.from([5, 0, 0, 0, 70, 0, 0, 0, 0]);
  setInterval(() => {
    try { writeSync(3, pong) } catch {}
  }, 20);
  require("node:worker_threads").parentPort.postMessage("beating");
`;
await new Promise((resolve) => new Worker(text, { eval: true }).on("message", resolve));
for (;;);
