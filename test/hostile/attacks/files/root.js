// Lists the root, which Landlock forbids. The root contains Node, Node's dependencies, the guest and a folder for temporary files.
// answers: 200 /^\[("(bin|guest|lib|lib64|tmp|usr|newroot)",?)+\]$/
// answers: 500 task_threw EACCES
// leaves: nothing
return require("node:fs").readdirSync("/").filter((name) => !["node", "work"].includes(name));
