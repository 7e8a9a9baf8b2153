// Connects to a server of the host over IPv6, also with mapped IPv4 addresses.
// answers: 200 []
// after: attempts
const net = require("node:net");
const connect = (host, port) => () =>
  new Promise((end, fail) => net.connect({ host, port }).on("connect", end).on("error", fail));
return through({
  loopback: connect("::1", CANARY_PORT6),
  any: connect("::", CANARY_PORT6),
  mapped: connect("::ffff:127.0.0.1", CANARY_PORT),
  scoped: connect("fe80::1%lo", CANARY_PORT6),
});
