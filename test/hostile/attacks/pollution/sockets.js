// Replaces the reads and writes of sockets, including the socket on which runs arrive.
// answers: 200 "replaced"
// answers: 500 task_blocked
const { Socket } = require("node:net");
for (const name of Object.getOwnPropertyNames(Socket.prototype)) {
  const { value } = Object.getOwnPropertyDescriptor(Socket.prototype, name);
  if (name !== "constructor" && typeof value === "function") Socket.prototype[name] = () => true;
}
return "replaced";
