// Builds a clock from a counting worker, finer than Node's clocks. It measures only itself.
// answers: 200 true
const { Worker } = require("node:worker_threads");
const shared = new Int32Array(new SharedArrayBuffer(8));
const text = `const { workerData } = require("node:worker_threads"); for (;;) { Atomics.add(workerData, 0, 1); if (Atomics.load(workerData, 1)) break }`;
new Worker(text, { eval: true, workerData: shared });
while (Atomics.load(shared, 0) < 1_000) await new Promise(setImmediate);
Atomics.store(shared, 1, 1);
return Atomics.load(shared, 0) > 0;
