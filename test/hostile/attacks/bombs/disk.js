// Fills the temporary disk.
// answers: 500 task_threw ENOSPC
// answers: 500 task_memory
const fs = require("node:fs");
for (let n = 0; ; n++) fs.writeFileSync(`/tmp/${n}`, Buffer.alloc(1 << 20, 1));
