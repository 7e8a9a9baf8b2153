// Writes a library and requires it.
// answers: 500 task_threw
const fs = require("node:fs");
const elf = Buffer.alloc(4_096);
elf.set([0x7f, 0x45, 0x4c, 0x46, 2, 1, 1, 0]);
elf.writeUInt16LE(3, 16);
elf.writeUInt16LE(62, 18);
fs.writeFileSync("/tmp/own.node", elf, { mode: 0o755 });
return require("/tmp/own.node");
