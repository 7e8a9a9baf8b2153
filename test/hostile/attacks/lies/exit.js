// Ends its process instead of answering.
// answers: 500 task_exited
process.exit(0);
