// Installs a handler for every signal, so that no signal ends it.
// answers: 500 task_blocked
for (const signal of Object.keys(require("node:os").constants.signals)) {
  try {
    process.on(signal, () => {});
  } catch {}
}
for (;;);
