// Reports without end that its run continues after its answer.
// after: frames
// answers: 500 task_exited
// A busy machine reads them so slowly that the task seems to block.
// answers: 500 task_blocked
for (;;) flood(74, own);
