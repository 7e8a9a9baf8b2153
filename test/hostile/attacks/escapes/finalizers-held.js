// Throws in finalizers, and replaces the timers that an ending guest waits with.
// strikes: later
// answers: 200 /^"x+"$/
const { Socket } = require("node:net");
globalThis.setImmediate = globalThis.setTimeout = () => {};
Object.defineProperty(Socket.prototype, "writableLength", { get: () => 1 });
globalThis.kept = new FinalizationRegistry(() => {
  throw new Error("thrown by the collector");
});
for (let n = 0; n < 1_000; n++) kept.register({ n }, n);
globalThis.session = new (require("node:inspector").Session)();
session.connect();
session.post("HeapProfiler.collectGarbage");
return "x".repeat(1_000_000);
