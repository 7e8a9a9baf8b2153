// Creates empty files until no inode is left.
// answers: 500 task_threw ENOSPC
// answers: 500 task_threw ENOMEM
// answers: 500 task_memory
// answers: 500 task_blocked
// The kernel has no limit here: the service polls the folder, and ends a guest that stores too much in it.
// answers under confined: 500 task_exited temporary folder
// On a host with a slow disk, the task blocks for the block limit before that.
// answers under confined: 500 task_blocked
const fs = require("node:fs");
for (let n = 0; ; n++) {
  fs.closeSync(fs.openSync(`/tmp/${n}`, "w"));
  if (n % 100 === 0) await new Promise(setImmediate);
}
