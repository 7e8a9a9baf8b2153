// Replaces the members of process that the harness uses.
// answers: 200 "replaced"
// answers: 500 task_exited
const hijack = () => "hijacked";
for (const name of ["nextTick", "on", "emit", "exit", "reallyExit", "kill", "abort", "hrtime", "cwd", "binding"]) process[name] = hijack;
Object.defineProperty(process, "title", { value: "hijacked" });
Object.defineProperty(process, "pid", { value: 0 });
globalThis.process = null;
return "replaced";
