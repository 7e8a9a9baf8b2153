// Returns a result that is longer than the longest string.
// answers: 500 result_too_large
// answers: 500 task_memory
// answers: 500 task_blocked
const line = "\u0001".repeat(1 << 20);
return new Array(200).fill(line);
