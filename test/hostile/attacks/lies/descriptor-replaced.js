// Replaces the descriptor of its guest with a file.
// answers: 500 task_exited
// answers: 500 task_blocked
const fs = require("node:fs");
fs.closeSync(3);
fs.openSync("/tmp/three", "w+");
return new Promise(() => {});
