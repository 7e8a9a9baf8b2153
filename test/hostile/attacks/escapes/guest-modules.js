// Imports the harness's own modules, and takes from it how a run is answered. Only its own run then has no answer.
// lasts: for ever
// answers: 500 task_timeout
// Without a root of its own, the harness lies elsewhere.
// answers under confined: 500 task_threw Cannot find module
const { currentRun } = await import("file:///guest/guest/run.js");
const run = currentRun();
run.constructor.prototype.result = () => {};
run.constructor.prototype.fault = () => {};
return "told nobody";
