// Has as many workers burn the processor as there may be, after its answer too.
// answers: 200 "went on"
// answers: 500 task_exited
// answers: 500 task_memory
// strikes: later
const { Worker } = require("node:worker_threads");
for (let n = 0; n < 8; n++) new Worker("for (;;);", { eval: true }).on("error", () => {});
await new Promise((resolve) => setTimeout(resolve, 100));
return "went on";
