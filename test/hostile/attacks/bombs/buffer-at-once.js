// Allocates more memory in one buffer than the container has.
// answers: 500 task_memory
// answers: 500 task_threw
// answers: 500 task_blocked
return Buffer.alloc(8 * 2 ** 30, 1).length;
