// Aborts its own process, which would write a core file.
// answers: 500 task_exited
// answers: 500 task_threw
process.abort();
