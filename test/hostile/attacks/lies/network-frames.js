// Opens connections by forged frames, past the checks of the guest.
// after: frames
// answers: 500 task_exited
// answers: 500 task_stalled
// answers: 500 task_timeout
// answers: 200 "spoken"
// strikes: later
const run = Buffer.alloc(4);
run.writeUInt32LE(own);
for (const host of ["127.0.0.1", "localhost", "::1", "169.254.169.254", "0", "\0", "x".repeat(10_000)]) {
  forge(80, 1, run.toString("latin1") + JSON.stringify({ host, port: CANARY_PORT, address: "1.1.1.1" }));
}
for (let type = 80; type < 96; type++) forge(type, 1, "\0\0\0\0{}");
return "spoken";
