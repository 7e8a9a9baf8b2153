// Reports without end that it is ready, and that its code is compiled. Each report costs the service time of its one thread.
// after: frames
// answers: 500 task_exited
// A busy machine reads them so slowly that the task seems to block.
// answers: 500 task_blocked
for (;;) {
  flood(64, 0);
  flood(71, 1, "\0\0");
}
