// Writes more log lines than the service accepts for a run, past the guest's own limit.
// after: frames
// answers: 500 task_exited
// A busy machine reads them so slowly that the task seems to block.
// answers: 500 task_blocked
for (;;) flood(72, own, "\x01" + "x".repeat(1_000));
