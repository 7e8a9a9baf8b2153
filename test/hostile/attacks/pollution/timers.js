// Replaces all timers.
// answers: 200 "replaced"
globalThis.setTimeout = globalThis.setImmediate = globalThis.queueMicrotask = globalThis.setInterval = () => ({});
globalThis.clearTimeout = globalThis.clearImmediate = () => { throw new Error("hijacked"); };
const timers = require("node:timers");
timers.setTimeout = timers.setImmediate = () => ({});
return "replaced";
