// Makes a replacement grow its own input, by a pattern of dollar signs.
// answers: 500 task_threw Invalid string length
// answers: 500 task_memory
// answers: 500 task_blocked
let text = "x".repeat(2 ** 14);
for (;;) text = text.replace(/x/g, "$&$&$&$&$&$&$&$&");
