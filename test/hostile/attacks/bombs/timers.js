// Sets millions of timers.
// answers: 500 task_memory
// answers: 500 task_timeout
// answers: 500 task_blocked
for (;;) {
  for (let n = 0; n < 20_000; n++) setTimeout(() => {}, 10_000 + n);
  await new Promise(setImmediate);
}
