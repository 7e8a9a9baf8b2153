// Leaves a file in its own temporary folder, whose name is that of the host's.
// answers: 200 true
// Without a root of its own, /tmp is the host's, and its own folder another.
// answers under confined: 500 task_threw EACCES
const fs = require("node:fs");
fs.writeFileSync(`/tmp/${MARK}`, "planted");
return fs.existsSync(`/tmp/${MARK}`);
