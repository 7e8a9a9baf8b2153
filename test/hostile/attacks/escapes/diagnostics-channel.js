// Subscribes to everything that Node reports about itself during later runs.
// answers: 200 "listening"
const { subscribe } = require("node:diagnostics_channel");
for (const name of ["module.import.start", "module.require.start", "child_process.spawn", "net.client.socket", "worker_threads"]) {
  subscribe(name, () => {
    throw new Error("thrown in the middle of the harness");
  });
}
return "listening";
