// Signals every possible process id.
// answers: 200 0
// It finds only itself, under the process id of the host.
// answers under confined: 200 1
// leaves: nothing
let reached = 0;
for (let pid = 2; pid < 5_000; pid++) {
  try {
    process.kill(pid, 0);
    reached++;
  } catch {}
}
return reached;
