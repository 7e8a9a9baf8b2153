// Answers its run with something that is not JSON, past the harness.
// after: frames
// answers: 200
// answers: 500 task_exited
forge(65, own, "{]");
return never;
