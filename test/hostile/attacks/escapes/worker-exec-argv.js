// Starts a worker with Node's internals, which opens a connection and starts a process without Node's checks.
// answers: 200 {"connected":-1,"started":-1}
const { Worker } = require("node:worker_threads");
const text = `
  const { internalBinding } = require("internal/test/binding");
  const { TCP, TCPConnectWrap, constants } = internalBinding("tcp_wrap");
  const ignore = { type: "ignore" };
  const stdio = [ignore, ignore, ignore];
  const spawned = internalBinding("spawn_sync").spawn({ file: "/bin/node", args: ["node"], envPairs: [], stdio });
  const connected = new TCP(constants.SOCKET).connect(new TCPConnectWrap(), "127.0.0.1", CANARY_PORT);
  require("node:worker_threads").parentPort.postMessage({ connected, started: spawned.error });
`;
const worker = new Worker(text, { eval: true, execArgv: ["--expose-internals"] });
return new Promise((resolve, reject) => worker.on("message", resolve).on("error", reject));
