// Fills the temporary disk with one file.
// answers: 500 task_threw ENOSPC
// answers: 500 task_threw EFBIG
// The kernel has no limit here: the service polls the folder, and ends a guest that stores too much in it.
// answers under confined: 500 task_exited temporary folder
// On a host with a slow disk, the task blocks for the block limit before that.
// answers under confined: 500 task_blocked
const fs = require("node:fs");
for (;;) fs.appendFileSync("/tmp/one", Buffer.alloc(1 << 20, 1));
