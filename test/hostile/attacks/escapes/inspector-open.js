// Opens the inspector to the network.
// answers: 200 null
// answers: 500 task_threw
const inspector = require("node:inspector");
inspector.open(CANARY_PORT, "127.0.0.1");
return inspector.url() ?? null;
