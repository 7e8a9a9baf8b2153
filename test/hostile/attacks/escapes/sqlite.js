// Opens a file of the host as a database, attaches one, and loads an extension.
// answers: 200 []
// after: attempts
const { DatabaseSync } = require("node:sqlite");
const memory = new DatabaseSync(":memory:", { allowExtension: true });
return through({
  open: () => new DatabaseSync(CANARY_FILE, { readOnly: true }),
  attach: () => memory.exec(`ATTACH '${CANARY_FILE}' AS host`),
  vacuum: () => memory.exec(`VACUUM INTO '/${MARK}'`),
});
