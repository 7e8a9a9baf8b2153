// Has its own process abort, which writes a core where it may.
// answers: 500 task_exited
// answers: 500 task_threw
process.abort();
