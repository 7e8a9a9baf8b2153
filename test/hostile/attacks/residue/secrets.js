// Searches its whole heap for code and data of others.
// answers: 200 "kept"
globalThis.kept = ["a secret of one", "container only", MARK].join(", ");
return "kept";
// then, in another container
// answers: 200 false
// answers: 500 task_memory
// answers: 500 task_blocked
const file = require("node:v8").writeHeapSnapshot("/tmp/heap");
const needle = ["a secret of one", "container only"].join(", ");
return require("node:fs").readFileSync(file, "latin1").split(needle).length > 2;
