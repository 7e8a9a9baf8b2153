// Throws nothing at all.
// answers: 500 task_threw
throw undefined;
