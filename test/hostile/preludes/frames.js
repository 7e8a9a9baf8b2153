const { writeSync } = require("node:fs");
const own = Number.parseInt(process.title.slice(1), 36);
const frameOf = (type, id, payload) => {
  const frame = Buffer.alloc(9 + Buffer.byteLength(payload));
  frame.writeUInt32LE(frame.length - 4, 0);
  frame[4] = type;
  frame.writeUInt32LE(id, 5);
  frame.write(payload, 9);
  return frame;
};
const send = (bytes) => {
  for (let at = 0; at < bytes.length; ) {
    try {
      at += writeSync(3, bytes, at);
    } catch (error) {
      if (error.code !== "EAGAIN") throw error;
    }
  }
};
const forge = (type, id, payload = "") => send(frameOf(type, id, payload));
const flood = (type, id, payload = "") => {
  const many = Buffer.concat(Array(5000).fill(frameOf(type, id, payload)));
  for (let turn = 0; turn < 100; turn++) send(many);
};
const HEAD = JSON.stringify({ status: 200, headers: [] });
const never = new Promise(() => {});
