// Writes a file to every folder in which a host may accept one.
// answers: 200 []
// after: attempts
const fs = require("node:fs");
const folders = ["/", "/bin", "/lib", "/lib64", "/guest", "/etc", "/var/tmp", "/dev/shm", "/run", "/home", "/usr/local/bin"];
return through(Object.fromEntries(folders.map((folder) => [folder, () => fs.writeFileSync(`${folder}/${MARK}`, "")])));
