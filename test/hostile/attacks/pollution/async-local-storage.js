// Replaces how runs are told apart, so that one answers for another.
// answers: 200 "replaced"
const { AsyncLocalStorage, AsyncResource } = require("node:async_hooks");
for (const name of ["run", "getStore", "enterWith", "exit", "disable"]) AsyncLocalStorage.prototype[name] = () => undefined;
AsyncResource.prototype.runInAsyncScope = () => undefined;
return "replaced";
