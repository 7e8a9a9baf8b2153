// Runs code when the harness's objects are collected.
// strikes: later
// answers: 200 "registered"
const registry = new FinalizationRegistry(() => {
  throw new Error("thrown by the collector");
});
globalThis.kept = registry;
for (let n = 0; n < 1_000; n++) registry.register({ n }, n);
globalThis.session = new (require("node:inspector").Session)();
session.connect();
session.post("HeapProfiler.collectGarbage");
return "registered";
