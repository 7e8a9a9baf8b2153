// Fills every turn of the event loop, without blocking it.
// lasts: for ever
// answers: 500 task_timeout
const again = () => setImmediate(again);
for (let n = 0; n < 100; n++) again();
await new Promise(() => {});
