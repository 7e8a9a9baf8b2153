/**
 * Frames on a byte stream: `length u32 | type u8 | id u32 | payload`, little endian; `length` counts what follows it.
 *
 * Both ends use this file, and each end treats the other's bytes as hostile: a task can write to the guest's socket.
 */

import { uncurry } from "./uncurry.ts";

// Taken now: in the guest a task may replace what it finds on Buffer, and the frames of others must still be right.
const allocUnsafe = Buffer.allocUnsafe.bind(Buffer);
const byteLength = Buffer.byteLength.bind(Buffer);
const concat = Buffer.concat.bind(Buffer);
const prototype: Buffer = Buffer.prototype;
const copy = uncurry(prototype, "copy");
const readUInt32LE = uncurry(prototype, "readUInt32LE");
const set = uncurry(prototype, "set");
const subarray = uncurry(prototype, "subarray");
const writeText = uncurry(prototype, "write");
const writeUInt32LE = uncurry(prototype, "writeUInt32LE");
/** After all promises that this event settles: what they send leaves with it, and not a turn of the event loop later. */
const later = process.nextTick.bind(process);

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
  readonly #maxPayloadBytes: (type: number) => number;
  readonly #onFrame: OnFrame;
  /** The start of a frame that has not come whole, in the first `#keptBytes` of it. */
  #kept: Buffer = EMPTY;
  #keptBytes = 0;
  #neededBytes = 0;

  /** @param maxPayloadBytes of all frames, or of each type */
  constructor(maxPayloadBytes: number | ((type: number) => number), onFrame: OnFrame) {
    this.#maxPayloadBytes = typeof maxPayloadBytes === "number" ? () => maxPayloadBytes : maxPayloadBytes;
    this.#onFrame = onFrame;
  }

  /** @throws {FrameError} when a length is impossible. */
  push(chunk: Buffer): void {
    if (this.#keptBytes > 0) {
      this.#keep(chunk);
      if (this.#keptBytes < this.#neededBytes) return;
      chunk = subarray(this.#kept, 0, this.#keptBytes);
      this.#kept = EMPTY;
      this.#keptBytes = 0;
    }
    let at = 0;
    this.#neededBytes = HEADER_BYTES;
    while (chunk.length - at >= HEADER_BYTES) {
      const payloadBytes = readUInt32LE(chunk, at) - COUNTED_HEADER_BYTES;
      const maxBytes = this.#maxPayloadBytes(chunk[at + 4]!);
      if (payloadBytes < 0 || payloadBytes > maxBytes) {
        throw new FrameError(`a frame of ${payloadBytes} bytes, where 0 to ${maxBytes} are allowed`);
      }
      const end = at + HEADER_BYTES + payloadBytes;
      if (end > chunk.length) {
        this.#neededBytes = end - at;
        break;
      }
      this.#onFrame(chunk[at + 4]!, readUInt32LE(chunk, at + 5), subarray(chunk, at + HEADER_BYTES, end));
      at = end;
    }
    if (at < chunk.length) this.#keep(subarray(chunk, at));
  }

  /** Doubles what it holds, so that a frame sent byte by byte costs linear work and no object a byte. */
  #keep(chunk: Buffer): void {
    const needed = this.#keptBytes + chunk.length;
    if (needed > this.#kept.length) {
      const larger = allocUnsafe(Math.max(needed, 2 * this.#kept.length));
      copy(this.#kept, larger, 0, 0, this.#keptBytes);
      this.#kept = larger;
    }
    copy(chunk, this.#kept, this.#keptBytes);
    this.#keptBytes = needed;
  }
}

/** Makes one frame whose payload is text, in UTF-8. */
export function textFrame(type: number, id: number, text: string): Buffer {
  const size = byteLength(text);
  const frame = allocUnsafe(HEADER_BYTES + size);
  writeText(frame, text, HEADER_BYTES, size);
  return withHeader(frame, type, id);
}

/** Makes one frame from the parts of its payload. */
export function bytesFrame(type: number, id: number, ...parts: readonly Uint8Array[]): Buffer {
  let size = HEADER_BYTES;
  for (let index = 0; index < parts.length; index += 1) size += parts[index]!.length;
  const frame = allocUnsafe(size);
  let at = HEADER_BYTES;
  for (let index = 0; index < parts.length; index += 1) {
    set(frame, parts[index]!, at);
    at += parts[index]!.length;
  }
  return withHeader(frame, type, id);
}

function withHeader(frame: Buffer, type: number, id: number): Buffer {
  writeUInt32LE(frame, frame.length - 4, 0);
  frame[4] = type;
  writeUInt32LE(frame, id, 5);
  return frame;
}

/** Gathers the frames of one event-loop turn into one write: a write a frame costs a third of the throughput. */
export class Outbox {
  readonly #write: (bytes: Buffer) => void;
  #frames: Buffer[] = [];
  #bytes = 0;

  constructor(write: (bytes: Buffer) => void) {
    this.#write = write;
  }

  /** Bytes that were pushed and are not written yet. */
  get waitingBytes(): number {
    return this.#bytes;
  }

  push(frame: Buffer): void {
    this.#bytes += frame.length;
    if (this.#frames.push(frame) === 1) later(this.flush);
  }

  /** Writes what waits, now. */
  readonly flush = (): void => {
    const frames = this.#frames;
    if (frames.length === 0) return;
    this.#frames = [];
    this.#bytes = 0;
    this.#write(frames.length === 1 ? frames[0]! : concat(frames));
  };
}
