// Runs a regular expression with exponential backtracking.
// answers: 500 task_blocked
return /^(a+)+$/.test(`${"a".repeat(64)}b`);
