// Parses a text that brings back all that it is given.
// answers: 500 task_blocked
// answers: 500 task_memory
const text = `[${"1,".repeat(200_000)}1]`;
for (;;) JSON.parse(text, (_, value) => value);
