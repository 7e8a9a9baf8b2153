// Gets node:child_process without require and import.
// answers: 500 task_threw EPERM
// leaves: nothing
return process.getBuiltinModule("child_process").execFileSync("/bin/node", ["--version"]).toString();
