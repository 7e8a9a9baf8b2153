// Ends its process and catches what the harness throws to stop it, again and again.
// answers: 500 task_exited
for (;;) {
  try {
    process.exit(1);
  } catch {}
  await new Promise(setImmediate);
}
