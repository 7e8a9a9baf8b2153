// Creates an array of the maximum length, and fills it.
// answers: 500 task_memory
// answers: 500 task_blocked
// answers: 500 task_threw
return new Array(2 ** 32 - 1).fill(0).length;
