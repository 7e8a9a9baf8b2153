/**
 * Frames on a byte stream: `length u32 | type u8 | id u32 | payload`, little endian; `length` counts what follows it.
 *
 * Both ends use this file, and each end treats the other's bytes as hostile: a task can write to the guest's socket.
 */

import { uncurry } from "./uncurry.ts";

// Saved now: in the guest, a task may replace methods of Buffer, and the frames of other runs must stay correct.
const allocUnsafe = Buffer.allocUnsafe.bind(Buffer);
const byteLength = Buffer.byteLength.bind(Buffer);
const concat = Buffer.concat.bind(Buffer);
const { max } = Math;
const prototype: Buffer = Buffer.prototype;
const copy = uncurry(prototype, "copy");
const readUInt32LE = uncurry(prototype, "readUInt32LE");
const set = uncurry(prototype, "set");
const subarray = uncurry(prototype, "subarray");
const writeText = uncurry(prototype, "write");
const writeUInt32LE = uncurry(prototype, "writeUInt32LE");
/** Runs after all promises that this event settles. Their frames are written in this turn of the event loop, not in the next. */
const later = process.nextTick.bind(process);

/** The bytes before the payload. */
export const HEADER_BYTES = 9;
const COUNTED_HEADER_BYTES = 5;
const EMPTY = Buffer.alloc(0);

/** The peer violated the framing. Nothing that it sends later can be trusted. */
export class FrameError extends Error {
  override readonly name = "FrameError";
}

/** Receives one frame. The payload is a view that is valid during the call only; copy or decode it to keep it. */
export type OnFrame = (type: number, id: number, payload: Buffer) => void;

export interface FrameReaderOptions {
  readonly isTrusted?: boolean;
  readonly free?: (frame: Buffer) => void;
}

/** Splits a byte stream into frames. It holds at most one frame in memory, and rejects a larger length before it stores the frame. */
export class FrameReader {
  readonly #maxPayloadBytes: (type: number) => number;
  readonly #onFrame: OnFrame;
  readonly #isTrusted: boolean;
  readonly #free: (frame: Buffer) => void;
  /** A buffer whose first `#partialBytes` are the start of an incomplete frame. */
  #partial: Buffer = EMPTY;
  #partialBytes = 0;
  /** The bytes of the incomplete frame, or of its header until the header is there. */
  #neededBytes = 0;

  /**
   * @param maxPayloadBytes The payload limit of all frames, or a function that returns the limit of a type.
   * @param options `isTrusted`: whether the peer sends what it announces. Then a long frame is stored once. `free`: called with the memory
   *   of a frame that arrived in pieces, when it was delivered.
   */
  constructor(
    maxPayloadBytes: number | ((type: number) => number),
    onFrame: OnFrame,
    { isTrusted = false, free = () => {} }: FrameReaderOptions = {},
  ) {
    this.#isTrusted = isTrusted;
    this.#free = free;
    this.#maxPayloadBytes = typeof maxPayloadBytes === "number" ? () => maxPayloadBytes : maxPayloadBytes;
    this.#onFrame = onFrame;
  }

  /**
   * Returns the memory in which the incomplete frame goes on, for a reader of the stream that can write there; null if fewer bytes than
   * `leastBytes` are missing. Without it, each byte of a long frame would be written to two places.
   */
  rest(leastBytes: number): Buffer | null {
    const end = this.#neededBytes;
    const isThere = this.#partialBytes > 0 && end <= this.#partial.length && end - this.#partialBytes >= leastBytes;
    return isThere ? subarray(this.#partial, this.#partialBytes, end) : null;
  }

  /** Goes on after bytes were written to the start of what `rest` returned. @throws {FrameError} when a length is impossible. */
  written(bytes: number): void {
    this.#partialBytes += bytes;
    this.#deliverPartial();
  }

  /** @throws {FrameError} when a length is impossible. */
  push(chunk: Buffer): void {
    let at = 0;
    while (this.#partialBytes > 0) {
      const missingEnd = at + this.#neededBytes - this.#partialBytes;
      const end = missingEnd < chunk.length ? missingEnd : chunk.length;
      this.#append(subarray(chunk, at, end));
      at = end;
      this.#deliverPartial();
      if (at === chunk.length) return;
    }
    while (chunk.length - at >= HEADER_BYTES) {
      const end = at + this.#frameBytes(chunk, at);
      if (end > chunk.length) {
        this.#neededBytes = end - at;
        return this.#append(subarray(chunk, at));
      }
      this.#deliver(chunk, at, end);
      at = end;
    }
    this.#neededBytes = HEADER_BYTES;
    if (at < chunk.length) this.#append(subarray(chunk, at));
  }

  /** Delivers the incomplete frame if it is complete now. */
  #deliverPartial(): void {
    if (this.#partialBytes < this.#neededBytes) return;
    // After a header of an empty frame, nothing is missing.
    this.#neededBytes = this.#frameBytes(this.#partial, 0);
    if (this.#partialBytes < this.#neededBytes) return;
    const frame = this.#partial;
    this.#partial = EMPTY;
    this.#partialBytes = 0;
    this.#deliver(frame, 0, this.#neededBytes);
    this.#free(frame);
  }

  /** Returns the bytes of a frame whose header is there. */
  #frameBytes(chunk: Buffer, at: number): number {
    const payloadBytes = readUInt32LE(chunk, at) - COUNTED_HEADER_BYTES;
    const maxBytes = this.#maxPayloadBytes(chunk[at + 4]!);
    if (payloadBytes < 0 || payloadBytes > maxBytes) {
      throw new FrameError(`a frame has ${payloadBytes} bytes; 0 to ${maxBytes} are allowed`);
    }
    return HEADER_BYTES + payloadBytes;
  }

  #deliver(chunk: Buffer, at: number, end: number): void {
    this.#onFrame(chunk[at + 4]!, readUInt32LE(chunk, at + 5), subarray(chunk, at + HEADER_BYTES, end));
  }

  /** Doubles the buffer when it is full, so that a frame sent byte by byte takes linear time and no object per byte. */
  #append(chunk: Buffer): void {
    const needed = this.#partialBytes + chunk.length;
    if (needed > this.#partial.length) {
      const announced = this.#isTrusted ? this.#neededBytes : 0;
      const larger = allocUnsafe(max(needed, announced, 2 * this.#partial.length));
      copy(this.#partial, larger, 0, 0, this.#partialBytes);
      this.#partial = larger;
    }
    copy(chunk, this.#partial, this.#partialBytes);
    this.#partialBytes = needed;
  }
}

/** Makes one frame whose payload is text, in UTF-8. */
export function textFrame(type: number, id: number, text: string): Buffer {
  const size = byteLength(text);
  const frame = allocUnsafe(HEADER_BYTES + size);
  writeText(frame, text, HEADER_BYTES, size);
  return withHeader(frame, type, id);
}

/** Makes one frame whose payload is one number of 32 bits. */
export function numberFrame(type: number, id: number, value: number): Buffer {
  const frame = allocUnsafe(HEADER_BYTES + 4);
  writeUInt32LE(frame, value, HEADER_BYTES);
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

/** Makes the header of a frame whose payload is sent after it. */
export function headOfFrame(type: number, id: number, payloadBytes: number): Buffer {
  const head = allocUnsafe(HEADER_BYTES);
  writeUInt32LE(head, COUNTED_HEADER_BYTES + payloadBytes, 0);
  head[4] = type;
  writeUInt32LE(head, id, 5);
  return head;
}

function withHeader(frame: Buffer, type: number, id: number): Buffer {
  writeUInt32LE(frame, frame.length - 4, 0);
  frame[4] = type;
  writeUInt32LE(frame, id, 5);
  return frame;
}

/** A longer part is written separately: a copy would take longer than another write, and is as large as the part. */
const LONG_BYTES = 131_072;

/** Joins the frames of one event-loop turn into one write. A write for each frame would cost a third of the throughput. */
export class Outbox {
  readonly #write: (bytes: Buffer) => void;
  #frames: Buffer[] = [];
  #bytes = 0;

  constructor(write: (bytes: Buffer) => void) {
    this.#write = write;
  }

  /** The number of bytes that were pushed but not written yet. */
  get waitingBytes(): number {
    return this.#bytes;
  }

  /** @param frame a frame, or a part of one */
  push(frame: Buffer): void {
    this.#bytes += frame.length;
    if (this.#frames.push(frame) === 1) later(this.flush);
  }

  /** Writes the queued frames now. */
  readonly flush = (): void => {
    const frames = this.#frames;
    if (frames.length === 0) return;
    this.#frames = [];
    this.#bytes = 0;
    if (frames.length === 1) return this.#write(frames[0]!);
    let joined: Buffer[] = [];
    for (let index = 0; index < frames.length; index += 1) {
      const frame = frames[index]!;
      if (frame.length < LONG_BYTES) {
        joined[joined.length] = frame;
        continue;
      }
      this.#writeJoined(joined);
      joined = [];
      this.#write(frame);
    }
    this.#writeJoined(joined);
  };

  #writeJoined(frames: Buffer[]): void {
    if (frames.length > 0) this.#write(frames.length === 1 ? frames[0]! : concat(frames));
  }
}
