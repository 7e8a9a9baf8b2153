// Requests the maximum number of random bytes.
// answers: 500 task_threw
// answers: 500 task_memory
// answers: 500 task_blocked
return require("node:crypto").randomBytes(2 ** 31 - 1).length;
