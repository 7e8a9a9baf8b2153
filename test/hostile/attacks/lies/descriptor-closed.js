// Closes the descriptor of its guest.
// answers: 500 task_exited
// answers: 500 task_blocked
// answers: 500 container_restarted
require("node:fs").closeSync(3);
return new Promise(() => {});
