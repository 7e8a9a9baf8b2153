// Creates a hard link to a read-only file in a writable folder.
// answers: 200 []
// after: attempts
const fs = require("node:fs");
return through({
  node: () => fs.linkSync("/bin/node", "/tmp/node"),
  guest: () => fs.linkSync("/guest/guest/main.js", "/tmp/main.js"),
  host: () => fs.linkSync(CANARY_FILE, "/tmp/secret"),
});
