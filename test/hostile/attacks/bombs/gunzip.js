// Unpacks far more than it brought along.
// answers: 500 task_memory
// answers: 500 task_threw
// answers: 500 task_blocked
const zlib = require("node:zlib");
let packed = zlib.gzipSync(Buffer.alloc(32 << 20));
const all = [];
for (;;) {
  all.push(zlib.gunzipSync(packed));
  await new Promise(setImmediate);
}
