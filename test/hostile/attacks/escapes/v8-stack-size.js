// Has V8 believe in a stack that the thread does not have, and runs off its end.
// answers: 500 task_exited
// answers: 500 task_threw
require("node:v8").setFlagsFromString("--stack-size=900000");
const deep = (n) => deep(n + 1) + 1;
return new Promise((resolve) => setImmediate(() => resolve(require("node:vm").runInNewContext("(f) => f(0)")(deep))));
