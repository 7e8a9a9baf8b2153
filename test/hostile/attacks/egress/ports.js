// Requests the service's own port, and ports that web clients block.
// after: egress
// answers: 200 []
// leaves: nothing
const { connect } = require("node:net");
const others = [];
for (const port of [SERVICE_PORT, CANARY_PORT, 22, 25, 6379, 0]) {
  await new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    socket.on("connect", () => (others.push(port), resolve()));
    socket.on("error", (error) => (error.code === "EGRESS_DENIED" || others.push(`${port} ${error.code}`), resolve()));
  });
}
return others;
