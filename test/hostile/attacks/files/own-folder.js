// Leaves a file in its temporary folder, which has the same path as the host's.
// answers: 200 true
// Without a separate root, /tmp is the host's, and the guest's own folder has another path.
// answers under confined: 500 task_threw EACCES
const fs = require("node:fs");
fs.writeFileSync(`/tmp/${MARK}`, "planted");
return fs.existsSync(`/tmp/${MARK}`);
