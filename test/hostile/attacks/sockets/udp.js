// Sends a datagram to the host, and waits for one.
// answers: 200 []
// after: attempts
const { createSocket } = require("node:dgram");
const send = (type, host) => () =>
  new Promise((end, fail) => {
    createSocket(type).on("error", fail).send("x", CANARY_UDP_PORT, host, (error) => (error ? fail(error) : end()));
  });
return through({
  four: send("udp4", "127.0.0.1"),
  six: send("udp6", "::ffff:127.0.0.1"),
  broadcast: send("udp4", "255.255.255.255"),
  bind: () => new Promise((end, fail) => createSocket("udp4").on("error", fail).bind(0, end)),
  group: () => createSocket("udp4").addMembership("224.0.0.1"),
});
