// Replaces loaded modules in the require cache.
// answers: 200 "planted"
for (const name of Object.keys(require.cache)) delete require.cache[name];
require.cache["/guest/guest/main.js"] = { exports: "hijacked" };
require("node:module").builtinModules.length = 0;
return "planted";
