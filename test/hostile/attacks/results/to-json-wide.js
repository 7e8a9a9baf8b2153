// Returns an object whose toJSON multiplies its members by ten, at twelve levels.
// answers: 500 task_memory
// answers: 500 task_blocked
const wide = (depth) => ({ toJSON: () => (depth === 0 ? 1 : new Array(10).fill(wide(depth - 1))) });
return wide(12);
