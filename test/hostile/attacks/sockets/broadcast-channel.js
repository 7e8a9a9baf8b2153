// Sends messages to other containers over a channel that reaches every thread of a process.
// answers: 200 "posted"
new BroadcastChannel(MARK).postMessage("from the one");
globalThis.channel = new BroadcastChannel(MARK);
return "posted";
// then, in another container
// answers: 200 "silence"
const channel = new BroadcastChannel(MARK);
channel.postMessage("is another run there?");
return new Promise((resolve) => {
  channel.onmessage = (event) => resolve(event.data);
  setTimeout(resolve, 100, "silence");
});
