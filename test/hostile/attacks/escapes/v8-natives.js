// Switches V8's own functions on, and ends the process with one.
// answers: 500 task_exited
// answers: 500 task_threw
require("node:v8").setFlagsFromString("--allow-natives-syntax");
new Function("%AbortJS('natives')")();
return "still there";
