// Creates realms without end.
// answers: 500 task_memory
// answers: 500 task_timeout
// answers: 500 task_blocked
const { createContext } = require("node:vm");
const all = [];
for (;;) {
  all.push(createContext({}));
  await new Promise(setImmediate);
}
