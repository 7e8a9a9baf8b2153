// Has a regular expression try more ways than there are atoms.
// answers: 500 task_blocked
return /^(a+)+$/.test(`${"a".repeat(64)}b`);
