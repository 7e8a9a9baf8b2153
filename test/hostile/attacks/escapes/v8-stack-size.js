// Sets V8's stack size above the real stack of the thread, and overflows the stack.
// answers: 500 task_exited
// answers: 500 task_threw
require("node:v8").setFlagsFromString("--stack-size=900000");
const deep = (n) => deep(n + 1) + 1;
return new Promise((resolve) => setImmediate(() => resolve(require("node:vm").runInNewContext("(f) => f(0)")(deep))));
