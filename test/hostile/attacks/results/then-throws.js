// Returns an object whose then getter throws.
// answers: 500 task_threw on purpose
return { get then() { throw new Error("on purpose"); } };
