// Fills the temporary disk with one file.
// answers: 500 task_threw ENOSPC
// answers: 500 task_threw EFBIG
const fs = require("node:fs");
for (;;) fs.appendFileSync("/tmp/one", Buffer.alloc(1 << 20, 1));
