// Doubles a string until it is longer than the longest string.
// answers: 500 task_threw Invalid string length
let text = "x";
for (;;) text += text;
