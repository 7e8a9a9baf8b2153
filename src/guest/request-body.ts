import { numberFrame } from "../wire/frames.ts";
import { DATA_FRAME_COST_BYTES, FROM_GUEST } from "../wire/messages.ts";
import { uncurry } from "../wire/uncurry.ts";
import { BodyMemory, FREE_UNPARSED_BYTES } from "./body-memory.ts";
import { CodeFault } from "./faults.ts";
import { freeBytes } from "./free-bytes.ts";
import { send } from "./service-link.ts";

const Bytes = Uint8Array;
const NativePromise = Promise;
const set = uncurry(Uint8Array.prototype, "set");

interface Piece {
  readonly bytes: Uint8Array;
  next: Piece | null;
}

/** The streamed body of a run's request. Each read grants the sender as many further bytes, so the sender waits for the reader. */
export class RequestBody {
  readonly #runId: number;
  readonly maxBufferedBytes: number;
  readonly memory: BodyMemory;
  /** The received pieces that are not read yet, as a linked list. */
  #first: Piece | null = null;
  #last: Piece | null = null;
  #ended = false;
  #error: Error | null = null;
  /** The whole body, after `readAll`. */
  #whole: Uint8Array | null = null;
  #isTaken = false;
  #reader: { resolve: (piece: Uint8Array | null) => void; reject: (error: Error) => void } | null = null;

  /**
   * @param maxBufferedBytes The limit of `readAll`, which holds the whole body in memory.
   * @param caller The caller of the run, as a number.
   */
  constructor(runId: number, maxBufferedBytes: number, caller: number) {
    this.#runId = runId;
    this.memory = new BodyMemory(caller);
    this.maxBufferedBytes = maxBufferedBytes;
  }

  /** @param view The next bytes; valid during the call only. */
  push(view: Uint8Array): void {
    if (this.#error) return;
    const piece: Piece = { bytes: new Bytes(view), next: null };
    if (this.#last) this.#last.next = piece;
    else this.#first = piece;
    this.#last = piece;
    this.#serve();
  }

  end(): void {
    this.#ended = true;
    this.#serve();
  }

  /** Discards the unread pieces and rejects all reads from now on. */
  fail(error: Error): void {
    this.#error ??= error;
    for (let piece = this.#first; piece; piece = piece.next) freeBytes(piece.bytes);
    this.#first = null;
    this.#last = null;
    this.#serve();
  }

  /** Returns the next piece, or null at the end. Call it again only when the promise has settled. */
  read(): Promise<Uint8Array | null> {
    return new NativePromise((resolve, reject) => {
      this.#reader = { resolve, reject };
      this.#serve();
    });
  }

  /** Returns the whole body. @throws {CodeFault} `request_invalid` if the body is longer than `maxBufferedBytes`. */
  async readAll(): Promise<Uint8Array> {
    let first: Piece | null = null;
    let last: Piece | null = null;
    let length = 0;
    try {
      for (let bytes = await this.read(); bytes; bytes = await this.read()) {
        const piece: Piece = { bytes, next: null };
        if (last) last.next = piece;
        else first = piece;
        last = piece;
        length += bytes.length;
        if (length > this.maxBufferedBytes) throw tooLong(this.maxBufferedBytes);
        if (length > FREE_UNPARSED_BYTES) await this.memory.holdUnparsed(bytes.length);
      }
    } catch (error) {
      for (let piece = first; piece; piece = piece.next) freeBytes(piece.bytes);
      throw error;
    }
    this.#whole = first && first === last ? first.bytes : joined(first, length);
    return this.#whole;
  }

  /** Returns what `readAll` returned, for the task, which may keep it. Returns null before. */
  take(): Uint8Array | null {
    this.#isTaken = true;
    return this.#whole;
  }

  /** Frees what the body takes when the run has ended, without what the task may have kept. */
  close(): void {
    this.fail(new Error("the run is over; the rest of the request body is not received"));
    this.memory.release();
    if (this.#whole && !this.#isTaken) freeBytes(this.#whole);
    this.#whole = null;
  }

  #serve(): void {
    const reader = this.#reader;
    if (!reader) return;
    const piece = this.#first;
    if (!piece && !this.#error && !this.#ended) return;
    this.#reader = null;
    if (this.#error) return reader.reject(this.#error);
    if (!piece) return reader.resolve(null);
    this.#first = piece.next;
    if (!piece.next) this.#last = null;
    this.#grant(piece.bytes.length + DATA_FRAME_COST_BYTES);
    reader.resolve(piece.bytes);
  }

  #grant(bytes: number): void {
    if (!this.#ended) send(numberFrame(FROM_GUEST.bodyMore, this.#runId, bytes));
  }
}

/** Returns one buffer, exactly as long as the pieces, and frees each piece: a buffer that grows would take twice the memory. */
function joined(first: Piece | null, length: number): Uint8Array {
  const whole = new Bytes(length);
  let at = 0;
  for (let piece = first; piece; piece = piece.next) {
    const { bytes } = piece;
    set(whole, bytes, at);
    at += bytes.length;
    freeBytes(bytes);
  }
  return whole;
}

function tooLong(maxBytes: number): CodeFault {
  return new CodeFault("request_invalid", `the body is longer than the limit of ${maxBytes} bytes`, {
    hint: "A fetch handler or a Node handler can read a body of any length as a stream.",
  });
}
