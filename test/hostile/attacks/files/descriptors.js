// Searches all descriptors for a file, a folder or a device of the host.
// answers: 200 []
const fs = require("node:fs");
const root = fs.statSync("/");
const found = [];
for (let descriptor = 0; descriptor < 1_024; descriptor++) {
  try {
    const stat = fs.fstatSync(descriptor);
    const isOwn = stat.dev === root.dev && stat.ino === root.ino;
    const isHosts = stat.isFile() || stat.isDirectory() || stat.isBlockDevice() || stat.isCharacterDevice();
    if (!isOwn && isHosts) found.push(descriptor);
  } catch {}
}
return found;
