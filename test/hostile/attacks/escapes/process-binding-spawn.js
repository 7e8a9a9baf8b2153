// Starts a process through the internal binding, past all checks of node:child_process.
// answers: 200 -1
// leaves: nothing
const { spawn } = process.binding("spawn_sync");
const ignore = { type: "ignore" };
const started = spawn({ file: "/bin/node", args: ["node", "--version"], envPairs: [], stdio: [ignore, ignore, ignore] });
return started.error;
