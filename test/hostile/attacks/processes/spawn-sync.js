// Starts a program and waits for it, which blocks the event loop.
// answers: 500 task_threw EPERM
// leaves: nothing
const { error, stdout } = require("node:child_process").spawnSync("/bin/node", ["--version"]);
if (error) throw error;
return stdout.toString();
