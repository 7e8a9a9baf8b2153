// Throws from every kind of callback, all at once.
// answers: 500 task_threw
const fail = () => {
  throw new Error("from everywhere");
};
setTimeout(fail);
setImmediate(fail);
process.nextTick(fail);
queueMicrotask(fail);
require("node:fs").stat("/", fail);
new (require("node:events"))().once("x", fail).emit("x");
