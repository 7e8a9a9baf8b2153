// Reads from the descriptor of its guest instead of the guest.
// answers: 500 task_blocked
// answers: 500 task_threw
// answers: 500 task_exited
const fs = require("node:fs");
const bytes = Buffer.alloc(65_536);
for (;;) {
  try {
    fs.readSync(3, bytes);
  } catch (error) {
    if (error.code !== "EAGAIN") throw error;
  }
}
