// Restores Node's own sockets instead of the guest's.
// answers: 200 /^"E[A-Z_]+"$/
// answers: 500 task_threw
// answers: 500 task_exited
// Right after a start, the guest sometimes lives but cannot send anything, not even an answer to a ping:
// answers: 500 task_blocked
const { Socket } = require("node:net");
for (const name of ["connect", "_read", "_write", "_writev", "_final", "_destroy"]) delete Socket.prototype[name];
const { TCP, constants } = process.binding("tcp_wrap");
const socket = new Socket({ handle: new TCP(constants.SOCKET) });
return new Promise((resolve) => {
  socket.on("error", (error) => resolve(error.code)).on("connect", () => resolve("connected"));
  require("node:net").Socket.prototype.connect.call(socket, CANARY_PORT, "127.0.0.1");
});
