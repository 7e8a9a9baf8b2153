// Starts the maximum number of workers, which burn the processor also after its answer.
// answers: 200 "went on"
// answers: 500 task_exited
// answers: 500 task_memory
// strikes: later
const { Worker } = require("node:worker_threads");
for (let n = 0; n < 8; n++) new Worker("for (;;);", { eval: true }).on("error", () => {});
await new Promise((resolve) => setTimeout(resolve, 100));
return "went on";
