// Answers with bytes that a worker continues to change.
// answers: 200
const { Worker } = require("node:worker_threads");
const shared = new SharedArrayBuffer(1 << 20);
const worker = new Worker("const bytes = new Uint8Array(require('node:worker_threads').workerData); for (;;) bytes.fill(Math.random() * 255)", { eval: true, workerData: shared });
worker.unref();
return new Uint8Array(shared);
