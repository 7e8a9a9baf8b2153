// Stops itself, so that it neither runs nor ends.
// answers: 500 task_blocked
// answers: 500 task_exited
// answers: 200 "went on"
process._kill(process.pid, 19);
process._kill(process.pid, 20);
await new Promise((resolve) => setTimeout(resolve, 50));
return "went on";
