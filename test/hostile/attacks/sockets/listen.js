// Listens for connections of others.
// answers: 200 []
// after: attempts
const net = require("node:net");
const listen = (...where) => () =>
  new Promise((end, fail) => net.createServer().on("error", fail).listen(...where, end));
return through({
  any: listen(0),
  loopback: listen(0, "127.0.0.1"),
  loopback6: listen(0, "::1"),
  unix: listen("/tmp/socket"),
  abstract: listen("\0listening"),
  http: () => new Promise((end, fail) => require("node:http").createServer().on("error", fail).listen(0, end)),
  descriptor: listen({ fd: 3 }),
});
