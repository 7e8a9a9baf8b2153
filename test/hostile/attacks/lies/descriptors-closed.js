// Closes every descriptor, including those of the event loop and of the threads.
// answers: 500 task_exited
// answers: 500 task_blocked
// answers: 500 task_threw
const fs = require("node:fs");
for (let descriptor = 0; descriptor < 64; descriptor++) {
  try {
    fs.closeSync(descriptor);
  } catch {}
}
return new Promise(() => {});
