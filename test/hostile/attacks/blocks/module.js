// Is a module that never ends its own evaluation.
// answers: 500 task_blocked
export default 1;
for (;;);
