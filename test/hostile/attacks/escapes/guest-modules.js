// Imports a module of the harness, to get the function that answers a run. The program is one file that exports nothing.
// answers: 500 task_threw Cannot find module
// leaves: nothing
const { currentRun } = await import("file:///guest/guest/run.js");
const run = currentRun();
run.constructor.prototype.result = () => {};
run.constructor.prototype.fault = () => {};
return "told nobody";
