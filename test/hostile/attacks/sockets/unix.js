// Connects to sockets of the host that have a path or an abstract name.
// answers: 200 []
// after: attempts
const net = require("node:net");
const connect = (path) => () => new Promise((end, fail) => net.connect({ path }).on("connect", end).on("error", fail));
return through({
  path: connect(CANARY_SOCKET),
  abstract: connect(CANARY_ABSTRACT),
  docker: connect("/var/run/docker.sock"),
  bus: connect("/run/dbus/system_bus_socket"),
  http: () =>
    new Promise((end, fail) => {
      require("node:http").get({ socketPath: CANARY_SOCKET, path: "/" }, end).on("error", fail);
    }),
});
