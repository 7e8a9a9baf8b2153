// Registers hooks in a thread of the loader.
// answers: 200 "registered"
// answers: 500 task_blocked
// answers: 500 task_threw
require("node:module").register("data:text/javascript,export const load = () => { for (;;); }");
return "registered";
