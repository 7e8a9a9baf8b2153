// Compiles new code without end, whose text is never collected.
// answers: 500 task_memory
// answers: 500 task_blocked
globalThis.kept = [];
for (let n = 0; ; n++) {
  kept.push(new Function(`return ${n} /* ${"x".repeat(1 << 20)} */`));
  kept.at(-1)();
  await new Promise(setImmediate);
}
