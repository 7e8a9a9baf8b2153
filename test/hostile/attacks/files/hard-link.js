// Gives a file that it may not write another name in a folder where it may.
// answers: 200 []
// after: attempts
const fs = require("node:fs");
return through({
  node: () => fs.linkSync("/bin/node", "/tmp/node"),
  guest: () => fs.linkSync("/guest/guest/main.js", "/tmp/main.js"),
  host: () => fs.linkSync(CANARY_FILE, "/tmp/secret"),
});
