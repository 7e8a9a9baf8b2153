/** Requests each URL, and returns those that egress did not deny, with the status or the error code. */
const undenied = async (urls) => {
  const others = [];
  const ask = async (url) => {
    try {
      const response = await fetch(url, { signal: AbortSignal.timeout(20_000) });
      others.push(`${url} answered ${response.status}`);
    } catch (error) {
      const code = error.cause?.code ?? error.code ?? error.name;
      if (code !== "EGRESS_DENIED") others.push(`${url} ${code}`);
    }
  };
  await Promise.all(urls.map(ask));
  return others;
};
/** Returns a frame that opens a connection, as the guest would write it. */
const openFrame = (stream, message) => {
  const run = Number.parseInt(process.title.slice(1), 36);
  const head = Buffer.alloc(4);
  head.writeUInt32LE(run);
  const payload = Buffer.concat([head, Buffer.from(JSON.stringify(message))]);
  const frame = Buffer.alloc(9 + payload.length);
  frame.writeUInt32LE(frame.length - 4, 0);
  frame[4] = 80;
  frame.writeUInt32LE(stream, 5);
  payload.copy(frame, 9);
  return frame;
};
const sendFrames = (...frames) => {
  const bytes = Buffer.concat(frames);
  for (let at = 0; at < bytes.length; ) {
    try {
      at += require("node:fs").writeSync(3, bytes, at);
    } catch (error) {
      if (error.code !== "EAGAIN") throw error;
    }
  }
};
