// Reads a file of the host that every user of the host may read.
// answers: 500 task_threw ENOENT
// leaves: nothing
return require("node:fs").readFileSync(CANARY_FILE, "utf8");
