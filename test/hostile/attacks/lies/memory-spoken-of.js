// Prints V8's message for a full heap, so that its end seems to be an end by memory.
// answers: 500 task_exited
// answers: 500 task_memory
require("node:fs").writeSync(2, "FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory\n");
process.exit(134);
