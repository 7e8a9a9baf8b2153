// Spreads an endless array.
// answers: 500 task_memory
// answers: 500 task_blocked
// answers: 500 task_threw
return [...{ *[Symbol.iterator]() { for (;;) yield {}; } }].length;
