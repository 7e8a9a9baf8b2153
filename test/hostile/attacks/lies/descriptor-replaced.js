// Puts a file of its own in the place of the descriptor of its guest.
// answers: 500 task_exited
// answers: 500 task_blocked
const fs = require("node:fs");
fs.closeSync(3);
fs.openSync("/tmp/three", "w+");
return new Promise(() => {});
