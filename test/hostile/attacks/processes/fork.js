// Forks the guest's own program, with a separate channel.
// answers: 200 []
// after: attempts
const { fork, spawn } = require("node:child_process");
const wait = (child) => new Promise((end, fail) => child.on("error", fail).on("exit", end));
return through({
  fork: () => wait(fork("/guest/guest/main.js")),
  detached: () => wait(spawn("/bin/node", [], { detached: true, stdio: "ignore" })),
  inherited: () => wait(spawn("/bin/node", [], { stdio: [0, 1, 2, 3] })),
  asRoot: () => wait(spawn("/bin/node", [], { uid: 0, gid: 0 })),
});
