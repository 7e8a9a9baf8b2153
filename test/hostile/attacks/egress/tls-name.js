// Names an allowed host in TLS, and connects to another host.
// after: attempts
// answers: 200 []
const tls = require("node:tls");
return through({
  name: () => new Promise((end, fail) => tls.connect({ host: "127.0.0.1", port: CANARY_PORT, servername: "example.com" }, end).on("error", fail)),
  agent: () =>
    new Promise((end, fail) => {
      require("node:https").get({ host: "127.0.0.1", port: CANARY_PORT, headers: { host: "example.com" } }, end).on("error", fail);
    }),
});
