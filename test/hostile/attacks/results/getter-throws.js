// Returns an object with a getter that throws.
// answers: 500 task_threw on purpose
return { get value() { throw new Error("on purpose"); } };
