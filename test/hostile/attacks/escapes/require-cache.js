// Puts a module of its own in the place of those that were loaded.
// answers: 200 "planted"
for (const name of Object.keys(require.cache)) delete require.cache[name];
require.cache["/guest/guest/main.js"] = { exports: "hijacked" };
require("node:module").builtinModules.length = 0;
return "planted";
