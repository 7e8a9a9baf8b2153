// Makes empty files until there is no room for a name.
// answers: 500 task_threw ENOSPC
// answers: 500 task_threw ENOMEM
// answers: 500 task_memory
// answers: 500 task_blocked
// No kernel says so: the service polls the folder, and ends who keeps too much in it.
// answers under confined: 500 task_exited temporary folder
// A host whose disk is slow: it blocks for as long before that.
// answers under confined: 500 task_blocked
const fs = require("node:fs");
for (let n = 0; ; n++) {
  fs.closeSync(fs.openSync(`/tmp/${n}`, "w"));
  if (n % 100 === 0) await new Promise(setImmediate);
}
