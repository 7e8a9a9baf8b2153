// Sends more of a body than its window allows.
// lasts: for ever
// after: frames
// answers: 200 cut
// answers: 500 task_exited
forge(66, own, HEAD);
for (let n = 0; n < 64; n++) forge(67, own, "x".repeat(65_536));
return never;
