// Resolves with a thenable that resolves with a thenable, without end.
// answers: 500 task_blocked
const endless = { then: (resolve) => resolve({ then: endless.then }) };
return endless;
