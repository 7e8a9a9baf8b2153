// Always queues one more tick.
// answers: 500 task_blocked
const again = () => process.nextTick(again);
again();
await new Promise(() => {});
