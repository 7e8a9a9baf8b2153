// Starts the only program in its root.
// answers: 500 task_threw EPERM
// leaves: nothing
const child = require("node:child_process").spawn("/bin/node", ["--version"]);
return new Promise((resolve, reject) => child.on("error", reject).on("exit", resolve));
