// Writes a snapshot of the whole heap, to find the harness's objects.
// answers: 200 false
// answers: 500 task_threw
// answers: 500 task_blocked
// answers: 500 task_memory
const file = require("node:v8").writeHeapSnapshot("/tmp/heap");
const text = require("node:fs").readFileSync(file, "latin1");
return /"secret[0-9a-f]{24}/.test(text);
