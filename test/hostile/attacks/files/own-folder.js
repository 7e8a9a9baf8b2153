// Leaves a file in its own temporary folder, whose name is that of the host's.
// answers: 200 true
const fs = require("node:fs");
fs.writeFileSync(`/tmp/${MARK}`, "planted");
return fs.existsSync(`/tmp/${MARK}`);
