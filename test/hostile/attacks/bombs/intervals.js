// Keeps the event loop busy with timers that fire at once.
// lasts: for ever
// answers: 500 task_timeout
// answers: 500 task_blocked
for (let n = 0; n < 1_000; n++) setInterval(() => {}, 1);
await new Promise(() => {});
