// Ends its process repeatedly, and catches the harness's error that stops it.
// answers: 500 task_exited
for (;;) {
  try {
    process.exit(1);
  } catch {}
  await new Promise(setImmediate);
}
