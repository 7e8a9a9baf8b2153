// Runs code when the harness's objects are collected.
// strikes: later
// The error may arrive before the result has left the guest. It belongs to no run, so the process ends.
// answers: 200 "registered"
// answers: 500 task_exited
const registry = new FinalizationRegistry(() => {
  throw new Error("thrown by the collector");
});
globalThis.kept = registry;
for (let n = 0; n < 1_000; n++) registry.register({ n }, n);
globalThis.session = new (require("node:inspector").Session)();
session.connect();
session.post("HeapProfiler.collectGarbage");
return "registered";
