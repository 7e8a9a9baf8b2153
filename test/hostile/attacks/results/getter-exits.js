// Returns what ends the process when it is looked at.
// answers: 500 task_exited
return { get value() { process.exit(1); } };
