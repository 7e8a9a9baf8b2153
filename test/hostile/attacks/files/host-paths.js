// Reads the files that contain most facts about a host.
// answers: 200 []
// after: attempts
const fs = require("node:fs");
const paths = [
  "/etc/passwd", "/etc/shadow", "/etc/hostname", "/etc/resolv.conf", "/proc/self/environ", "/proc/1/cmdline",
  "/proc/self/mem", "/proc/kcore", "/proc/sys/kernel/core_pattern", "/sys/kernel/profiling", "/dev/mem", "/dev/vsock",
  "/dev/kmsg", "/var/run/docker.sock", "/run/secrets", "/root/.ssh/id_rsa", "/home", "/var/log", "/boot", "/mnt",
];
return through(
  Object.fromEntries(paths.map((path) => [path, () => (fs.statSync(path).isDirectory() ? fs.readdirSync(path) : fs.readFileSync(path))])),
);
