// Has a replacement grow what it replaces, by a pattern of dollars.
// answers: 500 task_threw Invalid string length
// answers: 500 task_memory
// answers: 500 task_blocked
let text = "x".repeat(2 ** 14);
for (;;) text = text.replace(/x/g, "$&$&$&$&$&$&$&$&");
