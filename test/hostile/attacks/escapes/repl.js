// Starts a REPL on the standard streams of the guest.
// answers: 200 "started"
// answers: 500 task_threw
require("node:repl").start({ useGlobal: true });
return "started";
