// Disables V8's checks in a thread, by a call and by the arguments of the thread.
// answers: 200 ["ERR_WORKER_INVALID_EXEC_ARGV","ERR_WORKER_INVALID_EXEC_ARGV","ENOTSUP"]
const { Worker } = require("node:worker_threads");
const codes = ["--experimental-wasm-skip-bounds-checks", "--allow-natives-syntax"].map((flag) => {
  try {
    new Worker("", { eval: true, execArgv: [flag] });
    return flag;
  } catch (error) {
    return error.code;
  }
});
const text = 'require("node:v8").setFlagsFromString("--allow-natives-syntax"); throw new Error("switched")';
const worker = new Worker(text, { eval: true });
return new Promise((resolve) => worker.on("error", ({ code }) => resolve([...codes, code])));
