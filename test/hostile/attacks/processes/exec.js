// Starts a shell.
// answers: 500 task_threw
// leaves: nothing
return require("node:child_process").execSync("id").toString();
