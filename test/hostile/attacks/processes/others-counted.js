// Finds processes of the host by asking for the priority of each number.
// answers: 200 []
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
