// Creates promises that are never settled.
// answers: 500 task_memory
// answers: 500 task_timeout
// answers: 500 task_blocked
const all = [];
for (;;) {
  for (let n = 0; n < 50_000; n++) all.push(new Promise(() => {}).then(() => n));
  await new Promise(setImmediate);
}
