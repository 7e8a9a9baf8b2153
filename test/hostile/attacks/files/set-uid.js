// Creates a program that would run as its owner, and a folder that would keep its group.
// answers: 200 /^\["started: |^\[\]$/
// Without a separate root, /tmp is the host's, and the guest's own folder has another path.
// answers under confined: 500 task_threw EACCES
// after: attempts
const fs = require("node:fs");
fs.writeFileSync("/tmp/program", "#!/bin/node\n");
return through({
  started: () => {
    fs.chmodSync("/tmp/program", 0o6755);
    throw require("node:child_process").spawnSync("/tmp/program").error;
  },
});
