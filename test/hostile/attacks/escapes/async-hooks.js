// Hooks into every step of later runs, and throws there.
// answers: 200 "hooked"
// answers: 500 task_exited
// strikes: later
require("node:async_hooks").createHook({
  init: () => {
    throw new Error("thrown in the middle of the harness");
  },
}).enable();
return "hooked";
