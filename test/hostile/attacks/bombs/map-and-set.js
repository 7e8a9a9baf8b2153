// Fills maps, sets and symbols.
// answers: 500 task_memory
// answers: 500 task_blocked
// answers: 500 task_threw
const all = [];
for (;;) {
  const map = new Map();
  for (let n = 0; n < 100_000; n++) map.set(Symbol.for(`${all.length} ${n}`), new Set([n]));
  all.push(map);
  await new Promise(setImmediate);
}
