// Announces frames of zero and of negative length.
// after: frames
// answers: 500 task_exited
for (const length of [0, 1, 4, 0x7fffffff, 0x80000000, 0xffffffff]) {
  const bytes = Buffer.alloc(9);
  bytes.writeUInt32LE(length);
  bytes[4] = 65;
  send(bytes);
}
return never;
