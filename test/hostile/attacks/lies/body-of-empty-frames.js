// Sends a body of empty frames.
// after: frames
// answers: 200 cut
// answers: 500 task_exited
forge(66, own, HEAD);
flood(67, own);
return never;
