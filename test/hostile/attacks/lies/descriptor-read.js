// Reads the guest's frames in a worker, so that later runs never arrive.
// answers: 200 "listening"
// strikes: later, by a block
const { Worker } = require("node:worker_threads");
const text = `
  const { readSync } = require("node:fs");
  const bytes = Buffer.alloc(65_536);
  require("node:worker_threads").parentPort.postMessage("reading");
  for (;;) {
    try { readSync(3, bytes) } catch {}
  }
`;
await new Promise((resolve) => new Worker(text, { eval: true }).on("message", resolve));
return "listening";
