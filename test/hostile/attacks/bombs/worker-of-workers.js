// Starts workers that each start two more.
// answers: 500 task_threw
// answers: 500 task_exited
// answers: 500 task_memory
// answers: 500 task_blocked
// answers: 200 "went on"
// strikes: later
const { Worker } = require("node:worker_threads");
const text = `
  const { Worker } = require("node:worker_threads");
  for (let n = 0; n < 2; n++) new Worker(${"process.getBuiltinModule('vm').runInThisContext"}('0') + require("node:worker_threads").workerData, {
    eval: true, workerData: require("node:worker_threads").workerData,
  }).on("error", () => {});
`;
new Worker(text, { eval: true, workerData: text }).on("error", () => {});
await new Promise((resolve) => setTimeout(resolve, 300));
return "went on";
