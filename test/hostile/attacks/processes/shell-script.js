// Writes a script and starts it.
// answers: 200 []
// Without a separate root, /tmp is the host's, and the guest's own folder has another path.
// answers under confined: 500 task_threw EACCES
// after: attempts
const fs = require("node:fs");
const { spawnSync } = require("node:child_process");
fs.writeFileSync("/tmp/run", "#!/bin/node\nrequire('fs').writeFileSync('/tmp/ran', '')", { mode: 0o755 });
const start = (file, args) => () => {
  const { error } = spawnSync(file, args);
  if (error) throw error;
};
return through({
  script: start("/tmp/run", []),
  loader: start("/lib64/ld-linux-x86-64.so.2", ["/bin/node", "--version"]),
  shell: start("/bin/sh", ["-c", "id"]),
});
