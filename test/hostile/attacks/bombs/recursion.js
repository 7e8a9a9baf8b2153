// Calls itself without end.
// answers: 500 task_threw Maximum call stack
const deep = () => deep() + 1;
return deep();
