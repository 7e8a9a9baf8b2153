// Throws an error whose message would fill the log and the answer.
// answers: 500 task_threw
throw Object.assign(new Error("x".repeat(8 << 20)), { name: "y".repeat(1 << 20), stack: "z\n".repeat(1 << 20) });
