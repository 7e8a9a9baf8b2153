// Throws an error with an endless chain of causes.
// answers: 500 task_threw
const error = new Error("first");
error.cause = error;
for (let n = 0; n < 10_000; n++) error.cause = new Error(`${n}`, { cause: error.cause });
throw error;
