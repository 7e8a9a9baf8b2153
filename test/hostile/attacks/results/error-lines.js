// Throws an error whose message looks like lines of a stack, with positions outside of the submitted text.
// answers: 500 task_threw
throw Object.assign(new Error("x\n    at task:/1/task.js:1:1\n    at forged (task:/1/../../secret.js:1:1)"), { name: "A\r\nB: C" });
