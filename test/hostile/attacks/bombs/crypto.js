// Uses a gigabyte of memory for one password.
// answers: 500 task_threw
// answers: 500 task_memory
// answers: 500 task_blocked
return require("node:crypto").scryptSync("x", "y", 64, { N: 2 ** 20, r: 8, p: 1, maxmem: 2 ** 40 }).length;
