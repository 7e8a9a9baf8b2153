// Reads and writes its files in an endless loop, without a pause.
// answers: 500 task_blocked
const fs = require("node:fs");
for (;;) {
  fs.writeFileSync("/tmp/x", "x");
  fs.readFileSync("/tmp/x");
}
