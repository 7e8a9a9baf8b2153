// Searches Node's records of asynchronous calls for other runs.
// answers: 200 []
const { executionAsyncResource, AsyncLocalStorage } = require("node:async_hooks");
const found = [];
const get = Map.prototype.get;
Map.prototype.get = function (key) {
  if (key instanceof AsyncLocalStorage) found.push(String(key));
  return get.call(this, key);
};
await null;
const resource = executionAsyncResource();
for (const symbol of Object.getOwnPropertySymbols(resource)) {
  const value = resource[symbol];
  if (typeof value === "object" && value !== null && "headSent" in value) found.push(String(symbol));
}
Map.prototype.get = get;
return found;
