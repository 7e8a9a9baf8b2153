// Decompresses far more data than it sent.
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
