// Says V8's last words on its own, so that its end looks like another's doing.
// answers: 500 task_exited
// answers: 500 task_memory
require("node:fs").writeSync(2, "FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory\n");
process.exit(134);
