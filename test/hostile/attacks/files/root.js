// Lists the root, which Landlock does not let it: it is made of Node, what Node needs, the guest and a folder for temporary files.
// answers: 200 /^\[("(bin|guest|lib|lib64|tmp|usr|newroot)",?)+\]$/
// answers: 500 task_threw EACCES
return require("node:fs").readdirSync("/").filter((name) => !["node", "work"].includes(name));
