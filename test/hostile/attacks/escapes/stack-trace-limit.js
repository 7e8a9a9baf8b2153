// Requests endless stack traces, from deep recursion.
// answers: 500 task_threw Maximum call stack
Error.stackTraceLimit = Infinity;
const deep = () => deep();
return deep();
