// Reads the targets of links on the host.
// answers: 200 []
// after: attempts
const { readlinkSync } = require("node:fs");
const links = ["/bin", "/lib", "/lib64", "/etc/mtab", "/proc/self/exe", "/proc/self/fd/0", "/proc/1/exe", "/proc/self/cwd"];
return through(Object.fromEntries(links.map((link) => [link, () => readlinkSync(link)])));
