// Stops the whole guest at a breakpoint, and never continues.
// answers: 500 task_blocked
// answers: 200 "went on"
const { Session } = require("node:inspector");
const session = new Session();
session.connect();
session.post("Debugger.enable");
session.on("Debugger.paused", () => {
  for (;;);
});
debugger;
return "went on";
