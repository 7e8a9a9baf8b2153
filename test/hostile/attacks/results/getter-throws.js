// Returns what throws when it is looked at.
// answers: 500 task_threw on purpose
return { get value() { throw new Error("on purpose"); } };
