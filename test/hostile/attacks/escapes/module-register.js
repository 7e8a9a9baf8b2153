// Registers hooks in a thread of the loader.
// answers: 200 "registered"
// answers: 500 task_blocked
// answers: 500 task_threw
// If no control group counts memory, there is no room for the address space of another thread of Node.
// answers under confined: 500 task_memory
require("node:module").register("data:text/javascript,export const load = () => { for (;;); }");
return "registered";
