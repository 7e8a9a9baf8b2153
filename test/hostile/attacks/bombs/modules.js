// Imports new modules without an end, which Node never lets go of.
// answers: 500 task_memory
// answers: 500 task_timeout
// answers: 500 task_blocked
for (let n = 0; ; n++) await import(`data:text/javascript,export default "${"x".repeat(200_000)}${n}"`);
