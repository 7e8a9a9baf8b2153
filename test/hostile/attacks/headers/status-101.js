// Switches the connection of its client to another protocol.
// answers: 500 task_threw
module.exports = (context, req, res) => {
  res.writeHead(101, { upgrade: "websocket", connection: "upgrade" });
  res.end();
};
