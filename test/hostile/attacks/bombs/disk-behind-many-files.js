// Creates so many files that a check of its folder takes long, and then fills the disk before the next check.
// answers: 500 task_threw ENOSPC
// answers: 500 task_memory
// Between two turns of its event loop it creates twenty files. On a busy host that takes as long as the block limit.
// answers: 500 task_blocked
// The kernel has no limit here: the service polls the folder, and ends a guest that stores too much in it.
// answers under confined: 500 task_exited temporary folder
const fs = require("node:fs");
const tmp = require("node:os").tmpdir();
for (let n = 0; n < 2_000; n++) {
  fs.closeSync(fs.openSync(`${tmp}/${n}`, "w"));
  if (n % 20 === 0) await new Promise(setImmediate);
}
const mebibyte = Buffer.alloc(1 << 20, 1);
let held = 0;
for (let n = 0; n < 100; n++) {
  const file = fs.openSync(`${tmp}/big${n}`, "w");
  for (; held < 12 * (n + 1); held++) await new Promise((done, failed) => fs.write(file, mebibyte, (error) => (error ? failed(error) : done())));
  fs.closeSync(file);
}
await new Promise((resolve) => setTimeout(resolve, 5_000));
return `holds ${held} MiB`;
