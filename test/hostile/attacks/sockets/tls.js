// Connects with TLS.
// answers: 200 []
// after: attempts
const connect = (host) => () =>
  new Promise((end, fail) => {
    require("node:tls").connect({ host, port: CANARY_PORT, rejectUnauthorized: false }, end).on("error", fail);
  });
return through({ four: connect("127.0.0.1"), six: connect("::1"), name: connect("localhost") });
