// Holds a lock that the next container will request.
// answers: 200 "held"
globalThis.held = navigator.locks?.request("lock", () => new Promise(() => {}));
require("node:fs").writeFileSync("/tmp/lock", "held", { flag: "wx" });
return "held";
// then, in another container
// answers: 200 "mine"
require("node:fs").writeFileSync("/tmp/lock", "mine", { flag: "wx" });
return navigator.locks ? navigator.locks.request("lock", () => "mine") : "mine";
