// Throws undefined.
// answers: 500 task_threw
throw undefined;
