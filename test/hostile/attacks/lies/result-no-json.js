// Answers its run with a text that is not JSON, past the harness.
// after: frames
// answers: 200
// answers: 500 task_exited
forge(65, own, "{]");
return never;
