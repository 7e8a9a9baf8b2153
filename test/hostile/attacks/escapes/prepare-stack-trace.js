// Collects the functions and receivers of the harness from the call sites of an error.
// answers: 200 []
Error.stackTraceLimit = 1_000;
Error.prepareStackTrace = (_, sites) => sites;
const sites = new Error().stack;
return sites
  .filter((site) => !String(site.getFileName()).startsWith("task:"))
  .filter((site) => site.getFunction() !== undefined || (site.getThis() ?? globalThis) !== globalThis)
  .map((site) => `${site.getFileName()} ${site.getFunctionName()}`);
