// Throws an error that contains twenty thousand errors.
// answers: 500 task_threw
// answers: 500 task_blocked
throw new AggregateError(Array.from({ length: 20_000 }, (_, n) => new Error(`${n}`)), "many");
