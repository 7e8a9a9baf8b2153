/**
 * Frames on a byte stream: `length u32 | type u8 | id u32 | payload`, little endian; `length` counts what follows it.
 *
 * Both ends use this file, and each end treats the other's bytes as hostile: a task can write to the guest's socket.
 */

const HEADER_BYTES = 9;
const COUNTED_HEADER_BYTES = 5;
const EMPTY = Buffer.alloc(0);

/** The peer broke the framing; nothing more that it sends can be believed. */
export class FrameError extends Error {
  override readonly name = "FrameError";
}

/** Receives one frame. The payload is a view that is valid during the call only when copied or decoded. */
export type OnFrame = (type: number, id: number, payload: Buffer) => void;

/** Cuts a byte stream into frames. Memory is bounded by one frame: a longer length is refused before it is stored. */
export class FrameReader {
  readonly #maxPayloadBytes: number;
  readonly #onFrame: OnFrame;
  /** The start of a frame that has not come whole, in the first `#keptBytes` of it. */
  #kept: Buffer = EMPTY;
  #keptBytes = 0;
  #neededBytes = 0;

  constructor(maxPayloadBytes: number, onFrame: OnFrame) {
    this.#maxPayloadBytes = maxPayloadBytes;
    this.#onFrame = onFrame;
  }

  /** @throws {FrameError} when a length is impossible. */
  push(chunk: Buffer): void {
    if (this.#keptBytes > 0) {
      this.#keep(chunk);
      if (this.#keptBytes < this.#neededBytes) return;
      chunk = this.#kept.subarray(0, this.#keptBytes);
      this.#kept = EMPTY;
      this.#keptBytes = 0;
    }
    let at = 0;
    this.#neededBytes = HEADER_BYTES;
    while (chunk.length - at >= HEADER_BYTES) {
      const payloadBytes = chunk.readUInt32LE(at) - COUNTED_HEADER_BYTES;
      if (payloadBytes < 0 || payloadBytes > this.#maxPayloadBytes) {
        throw new FrameError(`a frame of ${payloadBytes} bytes, where 0 to ${this.#maxPayloadBytes} are allowed`);
      }
      const end = at + HEADER_BYTES + payloadBytes;
      if (end > chunk.length) {
        this.#neededBytes = end - at;
        break;
      }
      this.#onFrame(chunk[at + 4]!, chunk.readUInt32LE(at + 5), chunk.subarray(at + HEADER_BYTES, end));
      at = end;
    }
    if (at < chunk.length) this.#keep(chunk.subarray(at));
  }

  /** Doubles what it holds, so that a frame sent byte by byte costs linear work and no object a byte. */
  #keep(chunk: Buffer): void {
    const bytes = this.#keptBytes + chunk.length;
    if (bytes > this.#kept.length) {
      const larger = Buffer.allocUnsafe(Math.max(bytes, 2 * this.#kept.length));
      this.#kept.copy(larger, 0, 0, this.#keptBytes);
      this.#kept = larger;
    }
    chunk.copy(this.#kept, this.#keptBytes);
    this.#keptBytes = bytes;
  }
}

/** Makes one frame whose payload is text, in UTF-8. */
export function textFrame(type: number, id: number, text: string): Buffer {
  const frame = Buffer.allocUnsafe(HEADER_BYTES + Buffer.byteLength(text));
  frame.write(text, HEADER_BYTES, "utf8");
  return withHeader(frame, type, id);
}

/** Makes one frame from the parts of its payload. */
export function bytesFrame(type: number, id: number, ...parts: readonly Uint8Array[]): Buffer {
  let size = HEADER_BYTES;
  for (const part of parts) size += part.length;
  const frame = Buffer.allocUnsafe(size);
  let at = HEADER_BYTES;
  for (const part of parts) {
    frame.set(part, at);
    at += part.length;
  }
  return withHeader(frame, type, id);
}

function withHeader(frame: Buffer, type: number, id: number): Buffer {
  frame.writeUInt32LE(frame.length - 4, 0);
  frame[4] = type;
  frame.writeUInt32LE(id, 5);
  return frame;
}

/** Gathers the frames of one event-loop turn into one write: a write a frame costs a third of the throughput. */
export class Outbox {
  readonly #write: (bytes: Buffer) => void;
  #frames: Buffer[] = [];

  constructor(write: (bytes: Buffer) => void) {
    this.#write = write;
  }

  push(frame: Buffer): void {
    if (this.#frames.push(frame) === 1) setImmediate(this.#flush);
  }

  readonly #flush = (): void => {
    const frames = this.#frames;
    this.#frames = [];
    this.#write(frames.length === 1 ? frames[0]! : Buffer.concat(frames));
  };
}
