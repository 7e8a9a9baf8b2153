// Starts processes as fast as it can.
// answers: 200 0
const { spawn } = require("node:child_process");
let started = 0;
for (let n = 0; n < 300; n++) {
  try {
    spawn("/bin/node", ["-e", "setInterval(() => {}, 1000)"]).on("error", () => {}).on("spawn", () => started++);
  } catch {}
}
await new Promise((resolve) => setTimeout(resolve, 50));
return started;
