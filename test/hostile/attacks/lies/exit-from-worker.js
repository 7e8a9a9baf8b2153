// Ends the process from a worker thread.
// answers: 200 "went on"
// answers: 500 task_exited
const { Worker } = require("node:worker_threads");
const worker = new Worker("process.exit(3); process.abort()", { eval: true });
await new Promise((resolve) => worker.on("exit", resolve).on("error", resolve));
return "went on";
