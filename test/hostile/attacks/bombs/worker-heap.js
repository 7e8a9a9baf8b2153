// Uses all memory in a worker, which has a separate heap.
// answers: 500 task_memory
// answers: 200 "ended"
const { Worker } = require("node:worker_threads");
const text = "const all = []; for (;;) all.push(new Array(100_000).fill(0).map((_, n) => ({ n })))";
const worker = new Worker(text, { eval: true, resourceLimits: { maxOldGenerationSizeMb: 100_000 } });
return new Promise((resolve) => worker.on("error", () => resolve("ended")).on("exit", () => resolve("ended")));
