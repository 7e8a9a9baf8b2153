// Loads the guest's own program a second time, on the same descriptor.
// answers: 200 "loaded"
// answers: 500 task_threw
// answers: 400 module_missing
// answers: 500 task_exited
// strikes: later
await import("file:///guest/guest/main.js?again");
return "loaded";
