// Iterates over a generator that yields at once and never ends.
// answers: 500 task_blocked
const endless = async function* () {
  for (;;) yield null;
};
for await (const _ of endless());
