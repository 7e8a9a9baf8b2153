// Requires the guest's own program a second time, with an empty module cache.
// answers: 200 "loaded"
// answers: 500 task_threw
// answers: 400 module_missing
// answers: 500 task_exited
// strikes: later
for (const name of Object.keys(require.cache)) delete require.cache[name];
require("/guest/guest/main.js");
return "loaded";
