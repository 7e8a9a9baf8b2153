// Fills the temporary disk with one file.
// answers: 500 task_threw ENOSPC
// answers: 500 task_threw EFBIG
// No kernel says so: the service polls the folder, and ends who keeps too much in it.
// answers under confined: 500 task_exited temporary folder
// A host whose disk is slow: it blocks for as long before that.
// answers under confined: 500 task_blocked
const fs = require("node:fs");
for (;;) fs.appendFileSync("/tmp/one", Buffer.alloc(1 << 20, 1));
