// Opens the descriptor of its guest again, and destroys it there.
// answers: 200
// answers: 500 task_threw
// answers: 500 task_exited
// answers: 500 task_blocked
// strikes: later
const { Socket } = require("node:net");
const socket = new Socket({ fd: 3 });
socket.on("error", () => {});
socket.write("not a frame");
socket.destroy();
return "shut";
