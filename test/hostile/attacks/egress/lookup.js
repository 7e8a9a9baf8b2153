// Connects to another address than its own lookup returned.
// after: attempts
// answers: 200 []
const net = require("node:net");
const connect = (host, address) => () =>
  new Promise((end, fail) => {
    const lookup = (_, options, done) => (options.all ? done(null, [{ address, family: net.isIP(address) }]) : done(null, address, net.isIP(address)));
    net.connect({ host, port: CANARY_PORT, lookup }, end).on("error", fail);
  });
return through({
  rebound: connect("example.com", "127.0.0.1"),
  rebound6: connect("example.com", "::1"),
  mapped: connect("example.com", "::ffff:127.0.0.1"),
  metadata: connect("1.1.1.1", "169.254.169.254"),
});
