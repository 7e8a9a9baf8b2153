// Walks the whole file system for anything that it may write.
// answers: 200 ["/tmp"]
// Landlock lets it list no root, neither its own nor the host's.
// answers under confined: 500 task_threw EACCES
const fs = require("node:fs");
const writable = [];
const walk = (folder) => {
  try {
    fs.accessSync(folder, fs.constants.W_OK);
    writable.push(folder);
  } catch {}
  for (const entry of fs.readdirSync(folder, { withFileTypes: true })) {
    if (entry.isDirectory()) walk(`${folder === "/" ? "" : folder}/${entry.name}`);
  }
};
walk("/");
return writable;
