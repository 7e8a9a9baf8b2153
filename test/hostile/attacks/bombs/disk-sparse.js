// Creates an empty file of a terabyte.
// answers: 500 task_threw EFBIG
// answers: 500 task_threw ENOSPC
const fs = require("node:fs");
const file = fs.openSync("/tmp/sparse", "w");
fs.ftruncateSync(file, 2 ** 40);
return fs.statSync("/tmp/sparse").size;
