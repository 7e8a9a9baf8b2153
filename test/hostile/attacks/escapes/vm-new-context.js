// Escapes from a node:vm context by the constructor of a passed value.
// answers: 500 task_threw ENOENT
// leaves: nothing
const process = require("node:vm").runInNewContext("given.constructor.constructor('return process')()", { given: {} });
return process.getBuiltinModule("fs").readFileSync(CANARY_FILE, "utf8");
