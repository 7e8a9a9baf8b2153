// Has its own process abort, which writes a core where it may.
// answers: 500 task_exited
// answers: 500 task_threw
require("node:v8").setFlagsFromString("--abort-on-uncaught-exception");
process.abort();
