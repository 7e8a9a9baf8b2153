// Switches V8's checks off from a thread, by a call and by the arguments of the thread.
// answers: 500 task_exited
const { Worker } = require("node:worker_threads");
const started = ["--experimental-wasm-skip-bounds-checks", "--allow-natives-syntax"].map((flag) => {
  try {
    new Worker("", { eval: true, execArgv: [flag] });
    return flag;
  } catch {
    return null;
  }
});
if (started.some(Boolean)) return started;
const text = 'require("node:v8").setFlagsFromString("--allow-natives-syntax"); "switched"';
const worker = new Worker(text, { eval: true });
return new Promise((resolve) => worker.on("exit", resolve).on("error", resolve));
