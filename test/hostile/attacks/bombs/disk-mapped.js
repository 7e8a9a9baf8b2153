// Maps files, by SQLite, and removes them: no folder shows them, and no descriptor need be open.
// answers: 500 task_threw disk is full
// answers: 500 task_threw disk I/O error
// answers: 500 task_memory
// No kernel refuses it: the service polls what is mapped, and ends a guest that has removed it.
// answers under confined: 500 task_exited temporary folder
// A host whose disk is slow: it blocks for as long before that.
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
