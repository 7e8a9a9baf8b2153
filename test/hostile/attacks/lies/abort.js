// Aborts its process.
// answers: 500 task_exited
process.abort();
