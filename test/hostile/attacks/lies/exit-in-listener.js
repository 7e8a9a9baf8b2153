// Never ends the process that it ends, because a listener loops.
// answers: 500 task_exited
// answers: 500 task_blocked
process.on("exit", () => {
  for (;;);
});
process.exit(7);
