// Leaves a worker that continues after the end of its run, and reports what it sees.
// answers: 200 "left"
const { Worker, BroadcastChannel } = require("node:worker_threads");
const text = `
  const channel = new BroadcastChannel("residue");
  setInterval(() => channel.postMessage("still here"), 5);
`;
new Worker(text, { eval: true }).unref();
return "left";
// then, in another container
// answers: 200 "silence"
const channel = new BroadcastChannel("residue");
return new Promise((resolve) => {
  channel.onmessage = (event) => resolve(event.data);
  setTimeout(resolve, 100, "silence");
});
