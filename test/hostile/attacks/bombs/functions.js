// Compiles new code without an end, which nothing can collect.
// answers: 500 task_memory
// answers: 500 task_blocked
globalThis.kept = [];
for (let n = 0; ; n++) {
  kept.push(new Function(`return [${n}, ${"'x',".repeat(20_000)} ${n}]`));
  kept.at(-1)();
  if (n % 5 === 0) await new Promise(setImmediate);
}
