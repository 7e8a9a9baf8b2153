// Gets Function from the constructor of a constructor, the way out of every language-level jail.
// answers: 500 task_threw ENOENT
// leaves: nothing
const process = {}.constructor.constructor("return process")();
return process.getBuiltinModule("fs").readFileSync(CANARY_FILE, "utf8");
