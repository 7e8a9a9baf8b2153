// Ends its process by an invalid memory access.
// answers: 500 task_exited
// answers: 500 task_threw
process.binding("util");
process._kill(process.pid, 11);
const deep = (n) => [deep(n + 1), n];
return deep(0);
