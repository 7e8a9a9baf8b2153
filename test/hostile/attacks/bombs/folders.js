// Nests folders deeper than any path.
// answers: 500 task_memory
// answers: 500 task_threw ENAMETOOLONG
// answers: 500 task_threw ENOSPC
// answers: 500 task_threw ENOENT
// answers: 500 task_blocked
// No kernel says so: the service polls the folder, and ends who keeps too much in it.
// answers under confined: 500 task_exited temporary folder
// A host whose disk is slow: it blocks for as long before that.
// answers under confined: 500 task_blocked
const fs = require("node:fs");
for (;;) {
  fs.mkdirSync("x".repeat(200));
  process.chdir("x".repeat(200));
}
