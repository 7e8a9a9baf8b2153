// Asks for stack traces without an end, from deep within.
// answers: 500 task_threw Maximum call stack
Error.stackTraceLimit = Infinity;
const deep = () => deep();
return deep();
