// Is a module whose evaluation never ends.
// answers: 500 task_blocked
export default 1;
for (;;);
