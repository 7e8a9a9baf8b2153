// Ends its process by touching memory that there is not.
// answers: 500 task_exited
// answers: 500 task_threw
process.binding("util");
process._kill(process.pid, 11);
const deep = (n) => [deep(n + 1), n];
return deep(0);
