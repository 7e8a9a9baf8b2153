// Returns a promise that resolves with itself.
// answers: 500 task_threw
const circle = new Promise((resolve) => setImmediate(() => resolve(circle)));
return circle;
