// Evaluates code through the inspector, with its command line API, in the realm of the harness.
// answers: 200 /ENOENT/
const { Session } = require("node:inspector");
const session = new Session();
session.connect();
const expression = `process.getBuiltinModule("fs").readFileSync(${JSON.stringify(CANARY_FILE)}, "utf8")`;
return new Promise((resolve) => {
  session.post("Runtime.evaluate", { expression, includeCommandLineAPI: true }, (_, answer) => resolve(answer));
});
