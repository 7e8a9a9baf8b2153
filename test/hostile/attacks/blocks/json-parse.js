// Repeatedly parses a long JSON text with a reviver.
// answers: 500 task_blocked
// answers: 500 task_memory
const text = `[${"1,".repeat(200_000)}1]`;
for (;;) JSON.parse(text, (_, value) => value);
