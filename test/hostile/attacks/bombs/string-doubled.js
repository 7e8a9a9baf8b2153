// Doubles a string until there is none so long.
// answers: 500 task_threw Invalid string length
let text = "x";
for (;;) text += text;
