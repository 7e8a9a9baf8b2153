// Adds listeners to every event of the process, and listeners that add listeners.
// answers: 500 task_memory
// answers: 500 task_blocked
// answers: 500 task_threw
// answers: 500 task_exited
const listen = () => {
  for (let n = 0; n < 1_000; n++) process.on("newListener", listen);
};
listen();
for (;;) {
  process.on("x", listen);
  await new Promise(setImmediate);
}
