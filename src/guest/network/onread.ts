import type { OnReadOpts, Socket } from "node:net";

/** Implements the `onread` option: copies the received bytes to a buffer of the task and calls its callback. */
export function feedOwnBuffer(socket: Socket, onread: OnReadOpts): void {
  const { buffer } = onread;
  let rest: Buffer | null = null;
  const feed = (bytes: Buffer): void => {
    rest = null;
    for (let left = bytes; left.length > 0;) {
      const target = typeof buffer === "function" ? buffer() : buffer;
      const size = left.copy(target);
      left = left.subarray(size);
      if (size > 0 && onread.callback(size, target)) continue;
      rest = left;
      socket.pause();
      return;
    }
  };
  socket.on("data", feed);
  socket.on("resume", () => {
    if (rest) feed(rest);
  });
}
