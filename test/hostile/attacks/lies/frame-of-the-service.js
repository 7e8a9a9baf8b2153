// Sends the frames that only the service sends.
// after: frames
// answers: 500 task_exited
for (let type = 1; type < 64; type++) forge(type, own, "\0\0\0\0");
return never;
