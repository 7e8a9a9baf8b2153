// Returns what throws when it is asked whether it is a promise.
// answers: 500 task_threw on purpose
return { get then() { throw new Error("on purpose"); } };
