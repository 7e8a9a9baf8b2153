// Reports without end that its run goes on behind its answer.
// after: frames
// answers: 500 task_exited
// A machine that is busy reads them so slowly that the task is found to block.
// answers: 500 task_blocked
for (;;) flood(74, own);
