// Answers with a thenable that answers with a thenable, for ever.
// answers: 500 task_blocked
const endless = { then: (resolve) => resolve({ then: endless.then }) };
return endless;
