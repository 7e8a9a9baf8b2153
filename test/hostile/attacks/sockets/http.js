// Requests a server of the host with every HTTP client of Node.
// answers: 200 []
// after: attempts
const url = `http://127.0.0.1:${CANARY_PORT}/`;
return through({
  get: () => new Promise((end, fail) => require("node:http").get(url, end).on("error", fail)),
  agent: () =>
    new Promise((end, fail) => {
      const agent = new (require("node:http").Agent)({ keepAlive: true });
      require("node:http").get(url, { agent }, end).on("error", fail);
    }),
  https: () => new Promise((end, fail) => require("node:https").get(url.replace("http", "https"), end).on("error", fail)),
  http2: () => new Promise((end, fail) => require("node:http2").connect(url).on("connect", end).on("error", fail)),
  fetch: () => fetch(url),
  socket: () =>
    new Promise((end, fail) => {
      const socket = new WebSocket(url.replace("http", "ws"));
      socket.onopen = end;
      socket.onerror = () => fail(Object.assign(new Error("refused"), { code: "REFUSED" }));
    }),
});
