// Allocates a buffer that no machine could hold.
// answers: 500 task_threw
return new Uint8Array(2 ** 53 - 1).length;
