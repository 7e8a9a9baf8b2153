import type { Socket } from "node:net";

/** A frame: the bytes of the text, the id (4 bytes each, little-endian), and the text in UTF-8. */
const HEAD_BYTES = 8;

/** Writes all frames of one turn of the event loop together. */
export class FrameWriter {
  readonly #socket: Socket;
  #parts: Buffer[] = [];

  constructor(socket: Socket) {
    this.#socket = socket;
  }

  write(id: number, text: string): void {
    const bytes = Buffer.byteLength(text);
    const frame = Buffer.allocUnsafe(HEAD_BYTES + bytes);
    frame.writeUInt32LE(bytes, 0);
    frame.writeUInt32LE(id, 4);
    frame.write(text, HEAD_BYTES);
    if (this.#parts.push(frame) > 1) return;
    setImmediate(() => {
      this.#socket.write(this.#parts.length === 1 ? this.#parts[0]! : Buffer.concat(this.#parts));
      this.#parts = [];
    });
  }
}

/** Calls `receive` for each frame that arrives. */
export function readFrames(socket: Socket, receive: (id: number, text: string) => void): void {
  let rest: Buffer = Buffer.alloc(0);
  socket.on("data", (chunk: Buffer) => {
    const bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    let at = 0;
    while (bytes.length - at >= HEAD_BYTES) {
      const end = at + HEAD_BYTES + bytes.readUInt32LE(at);
      if (end > bytes.length) break;
      receive(bytes.readUInt32LE(at + 4), bytes.toString("utf8", at + HEAD_BYTES, end));
      at = end;
    }
    rest = bytes.subarray(at);
  });
}
