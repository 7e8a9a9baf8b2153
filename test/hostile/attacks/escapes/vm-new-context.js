// Leaves a context of node:vm by the constructor of what it was given.
// answers: 500 task_threw ENOENT
const process = require("node:vm").runInNewContext("given.constructor.constructor('return process')()", { given: {} });
return process.getBuiltinModule("fs").readFileSync(CANARY_FILE, "utf8");
