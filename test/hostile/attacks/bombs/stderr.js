// Writes to every standard descriptor, past the harness, for as long as possible.
// answers: 200 "done"
// answers: 500 task_blocked
const fs = require("node:fs");
const block = Buffer.alloc(1 << 16, 120);
for (let n = 0; n < 400; n++) {
  for (const descriptor of [1, 2]) {
    try {
      fs.writeSync(descriptor, block);
    } catch {}
  }
}
return "done";
