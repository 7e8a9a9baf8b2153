// Always queues one more microtask.
// answers: 500 task_blocked
const again = () => queueMicrotask(again);
again();
await new Promise(() => {});
