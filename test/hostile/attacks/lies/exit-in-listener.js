// Ends its process, but an exit listener loops, so that the process never ends.
// answers: 500 task_exited
// answers: 500 task_blocked
process.on("exit", () => {
  for (;;);
});
process.exit(7);
