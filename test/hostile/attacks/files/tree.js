// Searches the whole file system for writable files, also below folders that it may not list.
// answers: 200 ["/tmp"]
const fs = require("node:fs");
const writable = new Set();
const walk = (folder) => {
  try {
    fs.accessSync(folder, fs.constants.W_OK);
    writable.add(folder);
  } catch {}
  let entries = [];
  try {
    entries = fs.readdirSync(folder, { withFileTypes: true });
  } catch {}
  for (const entry of entries) if (entry.isDirectory()) walk(`${folder === "/" ? "" : folder}/${entry.name}`);
};
for (const folder of ["/", "/bin", "/dev", "/etc", "/guest", "/home", "/lib", "/lib64", "/proc", "/root", "/run", "/sys", "/tmp", "/usr", "/var"]) {
  walk(folder);
}
return [...writable];
