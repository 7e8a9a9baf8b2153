// Returns an object with a getter that ends the process.
// answers: 500 task_exited
return { get value() { process.exit(1); } };
