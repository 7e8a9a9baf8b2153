import { bytesFrame } from "../wire/frames.ts";
import { DATA_FRAME_COST_BYTES, FROM_GUEST } from "../wire/messages.ts";
import { uncurry } from "../wire/uncurry.ts";
import { CodeFault } from "./faults.ts";
import { send } from "./link.ts";

const Bytes = Uint8Array;
const NativePromise = Promise;
const set = uncurry(Uint8Array.prototype, "set");
const allocate = Buffer.allocUnsafe.bind(Buffer);
const prototype: Buffer = Buffer.prototype;
const writeUInt32LE = uncurry(prototype, "writeUInt32LE");

interface Piece {
  readonly bytes: Uint8Array;
  next: Piece | null;
}

/** The body of a run's request as it comes. What was read is asked for anew: its sender waits for its reader. */
export class Incoming {
  readonly #run: number;
  readonly mostGathered: number;
  /** What has come and was not read, the first and the last of it. */
  #first: Piece | null = null;
  #last: Piece | null = null;
  #ended = false;
  #error: Error | null = null;
  #reader: { resolve: (piece: Uint8Array | null) => void; reject: (error: Error) => void } | null = null;

  /** @param mostGathered bytes that may be held in memory at a time, where all of it is needed at once. */
  constructor(run: number, mostGathered: number) {
    this.#run = run;
    this.mostGathered = mostGathered;
  }

  /** @param view is valid during the call only. */
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

  /** No more will come. */
  fail(error: Error): void {
    this.#error ??= error;
    this.#first = null;
    this.#last = null;
    this.#serve();
  }

  /** The next piece, or null at the end. To be called again when that has been given. */
  read(): Promise<Uint8Array | null> {
    return new NativePromise((resolve, reject) => {
      this.#reader = { resolve, reject };
      this.#serve();
    });
  }

  /** All of it. @throws {CodeFault} `request_invalid` when that is more than may be gathered. */
  async gather(): Promise<Uint8Array> {
    let whole: Uint8Array = new Bytes();
    let bytes = 0;
    for (let piece = await this.read(); piece; piece = await this.read()) {
      const needed = bytes + piece.length;
      if (needed > this.mostGathered) throw tooLong(this.mostGathered);
      if (needed > whole.length) {
        const larger = new Bytes(Math.max(needed, 2 * whole.length));
        set(larger, whole);
        whole = larger;
      }
      set(whole, piece, bytes);
      bytes = needed;
    }
    return new Bytes(whole.buffer, 0, bytes);
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
    this.#askFor(piece.bytes.length + DATA_FRAME_COST_BYTES);
    reader.resolve(piece.bytes);
  }

  #askFor(bytes: number): void {
    if (this.#ended) return;
    const payload = allocate(4);
    writeUInt32LE(payload, bytes, 0);
    send(bytesFrame(FROM_GUEST.bodyMore, this.#run, payload));
  }
}

function tooLong(most: number): CodeFault {
  return new CodeFault("request_invalid", `the body is longer than the ${most} bytes that are taken`, {
    hint: "A fetch handler or a Node handler reads it as a stream, however long it is.",
  });
}
