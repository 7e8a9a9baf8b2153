// Answers its run with more than an answer may be, past the harness.
// after: frames
// answers: 500 task_exited
forge(65, own, `"${"x".repeat(7 << 20)}"`);
return never;
