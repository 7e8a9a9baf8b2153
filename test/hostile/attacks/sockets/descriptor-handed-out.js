// Sends its descriptor to another process over a pipe.
// answers: 200 []
// after: attempts
const { Socket } = require("node:net");
const { spawn } = require("node:child_process");
return through({
  stdio: () => new Promise((end, fail) => spawn("/bin/node", [], { stdio: [3, 3, 3, "ipc"] }).on("error", fail).on("spawn", end)),
  pipe: () => new Promise((end, fail) => new Socket().connect("/tmp/none").on("error", fail).on("connect", end)),
});
