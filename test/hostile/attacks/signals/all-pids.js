// Signals every process that there could be.
// answers: 200 0
// It finds itself, whose number is that of the host.
// answers under confined: 200 1
let reached = 0;
for (let pid = 2; pid < 5_000; pid++) {
  try {
    process.kill(pid, 0);
    reached++;
  } catch {}
}
return reached;
