// Starts a shell.
// answers: 500 task_threw
return require("node:child_process").execSync("id").toString();
