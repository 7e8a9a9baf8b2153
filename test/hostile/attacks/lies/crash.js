// Crashes its process with a hard fault of Node.
// answers: 500 task_exited
// answers: 500 task_threw
process.binding("buffer");
process._debugEnd?.();
require("node:v8").setFlagsFromString("--allow-natives-syntax");
return new Function("return %SystemBreak()")();
