// Replaces the storage that separates runs, so that one run answers for another.
// answers: 200 "replaced"
const { AsyncLocalStorage, AsyncResource } = require("node:async_hooks");
for (const name of ["run", "getStore", "enterWith", "exit", "disable"]) AsyncLocalStorage.prototype[name] = () => undefined;
AsyncResource.prototype.runInAsyncScope = () => undefined;
return "replaced";
