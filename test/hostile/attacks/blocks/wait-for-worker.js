// Waits for a worker that never wakes it.
// answers: 500 task_blocked
const { Worker } = require("node:worker_threads");
const word = new Int32Array(new SharedArrayBuffer(4));
new Worker("Atomics.wait(require('node:worker_threads').workerData, 0, 0)", { eval: true, workerData: word });
Atomics.wait(word, 0, 0);
