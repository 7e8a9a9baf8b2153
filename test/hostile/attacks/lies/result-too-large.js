// Answers its run with more than the result limit, past the harness.
// after: frames
// answers: 500 task_exited
forge(65, own, `"${"x".repeat(7 << 20)}"`);
return never;
