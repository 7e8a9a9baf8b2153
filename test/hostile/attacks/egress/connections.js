// Opens more connections than a run may have, all to denied destinations, as fast as it can.
// answers: 200 0
const { connect } = require("node:net");
let connected = 0;
await Promise.all(
  Array.from({ length: 500 }, () => new Promise((resolve) => connect(CANARY_PORT, "127.0.0.1").on("connect", () => resolve(connected++)).on("error", resolve))),
);
return connected;
