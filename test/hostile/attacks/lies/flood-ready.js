// Reports without end that it is ready, and that its code is compiled: each costs the service a little of its one thread.
// after: frames
// answers: 500 task_exited
// A machine that is busy reads them so slowly that the task is found to block.
// answers: 500 task_blocked
for (;;) {
  flood(64, 0);
  flood(71, 1, "\0\0");
}
