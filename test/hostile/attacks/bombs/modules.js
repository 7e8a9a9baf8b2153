// Imports new modules without end, which Node never collects.
// answers: 500 task_memory
// answers: 500 task_timeout
// answers: 500 task_blocked
for (let n = 0; ; n++) await import(`data:text/javascript,export default "${"x".repeat(200_000)}${n}"`);
