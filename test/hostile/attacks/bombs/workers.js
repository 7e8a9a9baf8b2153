// Starts more threads than its limit, and ends none of them.
// strikes: later
// answers: 500 task_threw
// answers: 500 task_exited
// answers: 500 task_memory
// answers: 500 task_blocked
// answers: 200 "went on"
const { Worker } = require("node:worker_threads");
for (let n = 0; n < 200; n++) {
  new Worker("setInterval(() => {}, 1000)", { eval: true }).on("error", () => {});
  await new Promise(setImmediate);
}
return "went on";
