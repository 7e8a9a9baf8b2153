// Opens files until there are no descriptors left, and keeps them.
// answers: 500 task_threw EMFILE
const fs = require("node:fs");
globalThis.kept = [];
for (;;) kept.push(fs.openSync("/tmp/one", "a"));
