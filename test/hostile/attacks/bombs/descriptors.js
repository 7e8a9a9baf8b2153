// Opens files until no descriptor is left, and does not close them.
// answers: 500 task_threw EMFILE
const fs = require("node:fs");
globalThis.kept = [];
for (;;) kept.push(fs.openSync("/tmp/one", "a"));
