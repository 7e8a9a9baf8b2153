// Maps files, by SQLite, and removes them: no folder shows them, and no descriptor need be open.
// answers: 500 task_threw disk is full
// answers: 500 task_threw disk I/O error
// answers: 500 task_memory
// The kernel has no limit here: the service polls the mapped files, and ends a guest that has removed them.
// answers under confined: 500 task_exited temporary folder
// On a host with a slow disk, the task blocks for the block limit before that.
// answers under confined: 500 task_blocked
const fs = require("node:fs");
const { DatabaseSync } = require("node:sqlite");
const tmp = require("node:os").tmpdir();
const held = [];
for (let n = 0; n < 100; n++) {
  // The filter allows no locks.
  const database = new DatabaseSync(`file:${tmp}/${n}.db?nolock=1`);
  database.exec("PRAGMA mmap_size = 67108864; CREATE TABLE t (x); INSERT INTO t VALUES (zeroblob(4000000))");
  database.prepare("SELECT hex(x) FROM t").get();
  fs.unlinkSync(`${tmp}/${n}.db`);
  held.push(database);
  await new Promise((resolve) => setTimeout(resolve, 20));
}
await new Promise((resolve) => setTimeout(resolve, 5_000));
return `holds ${held.length} files`;
