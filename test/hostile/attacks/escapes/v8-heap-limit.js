// Removes V8's heap limit, and uses all memory.
// answers: 500 task_threw
require("node:v8").setFlagsFromString("--max-old-space-size=65536");
const all = [];
const breath = () => new Promise(setImmediate);
for (;;) {
  all.push(new Array(100_000).fill(0).map((_, n) => ({ n })));
  await breath();
}
