// Writes more to the log, past the guest's own bound, than the service keeps of a run.
// after: frames
// answers: 500 task_exited
// A machine that is busy reads them so slowly that the task is found to block.
// answers: 500 task_blocked
for (;;) flood(72, own, "\x01" + "x".repeat(1_000));
