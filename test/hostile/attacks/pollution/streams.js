// Replaces the reads and writes of streams, including the socket on which runs arrive.
// answers: 200 "replaced"
// answers: 500 task_blocked
const { Readable, Writable, Duplex } = require("node:stream");
for (const type of [Readable, Writable, Duplex]) {
  for (const name of ["push", "read", "write", "end", "_read", "_write", "_writev", "resume", "pause", "destroy", "cork", "uncork"]) {
    if (name in type.prototype) type.prototype[name] = () => true;
  }
}
return "replaced";
