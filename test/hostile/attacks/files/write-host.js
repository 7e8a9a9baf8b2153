// Writes to world-writable files and folders of the host.
// answers: 200 []
// after: attempts
const fs = require("node:fs");
return through({
  write: () => fs.writeFileSync(CANARY_OPEN_FILE, "changed"),
  append: () => fs.appendFileSync(CANARY_OPEN_FILE, "changed"),
  truncate: () => fs.truncateSync(CANARY_OPEN_FILE, 0),
  remove: () => fs.unlinkSync(CANARY_OPEN_FILE),
  rename: () => fs.renameSync(CANARY_OPEN_FILE, `${CANARY_OPEN_FILE}.moved`),
  touch: () => fs.utimesSync(CANARY_OPEN_FILE, 0, 0),
  make: () => fs.mkdirSync(`${CANARY_FOLDER}/made`),
});
