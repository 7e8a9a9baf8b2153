// Connects to a server of the host over IPv4.
// answers: 200 []
// after: attempts
const net = require("node:net");
const connect = (options) => () =>
  new Promise((end, fail) => net.connect(options).on("connect", end).on("error", fail));
return through({
  loopback: connect({ host: "127.0.0.1", port: CANARY_PORT }),
  any: connect({ host: "0.0.0.0", port: CANARY_PORT }),
  name: connect({ host: "localhost", port: CANARY_PORT }),
  looked: connect({ host: "host", port: CANARY_PORT, lookup: (_, __, done) => done(null, [{ address: "127.0.0.1", family: 4 }]) }),
  local: connect({ host: "127.0.0.1", port: CANARY_PORT, localAddress: "127.0.0.2", localPort: 4_000 }),
});
