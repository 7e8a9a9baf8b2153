// Starts a REPL on the standard streams of the guest.
// answers: 200 "started"
// answers: 400 module_missing
require("node:repl").start({ useGlobal: true });
return "started";
