// Finds processes of the host by reading the priority of each process id.
// answers: 200 []
// leaves: nothing
const { getPriority } = require("node:os");
const numbers = [SERVICE_PID, ...Array.from({ length: 1_000 }, (_, n) => n + 1)];
return numbers.filter((pid) => {
  try {
    getPriority(pid);
    return pid !== process.pid;
  } catch {
    return false;
  }
});
