// Writes to every descriptor but its own, to find one that leads outside.
// answers: 200 /^\[.*\]$/
// answers: 500 task_exited
// answers: 500 container_restarted
// strikes: later
const fs = require("node:fs");
const written = [];
for (const descriptor of [0, 1, 2, ...Array.from({ length: 1_020 }, (_, n) => n + 4)]) {
  try {
    if (fs.writeSync(descriptor, MARK) > 0) written.push(descriptor);
  } catch {}
}
return written;
