// Sends frames of connections that were never opened, and opens a connection twice.
// after: egress
// answers: 500 task_exited
// answers: 500 task_stalled
// answers: 500 task_timeout
// lasts: for ever
for (let type = 81; type < 85; type++) {
  const frame = Buffer.alloc(13);
  frame.writeUInt32LE(9, 0);
  frame[4] = type;
  frame.writeUInt32LE(0xffff_0000, 5);
  sendFrames(frame);
}
sendFrames(openFrame(1_000, { host: "1.1.1.1", port: 80 }), openFrame(1_000, { host: "1.1.1.1", port: 80 }));
return new Promise(() => {});
