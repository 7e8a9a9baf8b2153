// Sends itself every signal, past the harness.
// strikes: later
// answers: 500 task_exited
// answers: 500 task_blocked
// answers: 200 "survived"
for (let signal = 1; signal <= 64; signal++) process._kill(process.pid, signal);
await new Promise((resolve) => setTimeout(resolve, 50));
return "survived";
