import { DATA_BYTES, DATA_FRAME_COST_BYTES, WINDOW_BYTES } from "../wire/messages.ts";
import { uncurry } from "../wire/uncurry.ts";
import type { Run } from "./run.ts";

const lowerCase = uncurry(String.prototype as string, "toLowerCase");
const set = uncurry(Uint8Array.prototype, "set");
const subarray = uncurry(Uint8Array.prototype, "subarray");
const Bytes = Uint8Array;
const NONE = new Uint8Array();
const NativePromise = Promise;
/** Runs after all settled promises, so a stream has delivered everything that it already holds. */
const soon = process.nextTick.bind(process);
/** The largest piece that is batched. A larger piece is sent in a separate frame. */
const SMALL_BYTES = 4_096;
/** The size at which a batch of small pieces is sent. */
const BATCH_BYTES = 16_384;
/** These headers belong to one connection only (RFC 9110, 7.6.1), or the service's HTTP layer sets them. */
const HOP_BY_HOP = ["connection", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade"];

/** Sends the head and then the bytes of a run's response, within the window that the service grants. */
export class Body {
  readonly #run: Run;
  #credit: number = WINDOW_BYTES;
  #wake: (() => void) | null = null;
  /** The small pieces of this turn. Their frame is already deducted from the credit, so it can always be sent. */
  #batch: Uint8Array = NONE;
  #batchBytes = 0;

  /** @param stop Stops the source of the body; called when the run is aborted. */
  constructor(run: Run, stop: () => void) {
    this.#run = run;
    run.onWindow = (bytes) => {
      this.#credit += bytes;
      this.#wake?.();
    };
    run.onFault = this.#flush;
    run.onAbort = () => {
      this.#wake?.();
      stop();
    };
  }

  /**
   * @param headers Name, value, name, value.
   * @param isDelayed Whether the head waits for the first bytes; see `Run.head`.
   * @throws {TypeError} when HTTP forbids the status or a header.
   */
  head(status: number, headers: string[], isDelayed = false): void {
    const endToEnd: string[] = [];
    for (let at = 0; at + 1 < headers.length; at += 2) {
      if (!HOP_BY_HOP.includes(lowerCase(headers[at]!))) endToEnd.push(headers[at]!, headers[at + 1]!);
    }
    this.#run.head(status, endToEnd, isDelayed);
  }

  /** Sends what the window allows. Returns a promise only if some bytes have to wait. */
  write(bytes: Uint8Array): Promise<void> | null {
    if (this.#run.over || this.#addToBatch(bytes)) return null;
    this.#flush();
    const sent = this.#send(bytes);
    return sent === bytes.length ? null : this.#sendRest(subarray(bytes, sent));
  }

  end(): void {
    this.#flush();
    this.#run.end();
  }

  async #sendRest(rest: Uint8Array): Promise<void> {
    while (rest.length > 0 && !this.#run.over) {
      await new NativePromise<void>((resolve) => {
        this.#wake = resolve;
      });
      rest = subarray(rest, this.#send(rest));
    }
    this.#wake = null;
  }

  /** The service counts the same credit and ends a guest that exceeds it, so the credit never falls below zero. */
  #send(bytes: Uint8Array): number {
    let at = 0;
    while (at < bytes.length && this.#credit > DATA_FRAME_COST_BYTES) {
      const end = Math.min(bytes.length, at + DATA_BYTES, at + this.#credit - DATA_FRAME_COST_BYTES);
      this.#run.data(subarray(bytes, at, end));
      this.#credit -= end - at + DATA_FRAME_COST_BYTES;
      at = end;
    }
    return at;
  }

  /**
   * Adds a small piece to the batch: all that a task writes in a turn goes in one frame. Returns false if the piece is too
   * large or the window is full.
   */
  #addToBatch(bytes: Uint8Array): boolean {
    if (bytes.length === 0) return true;
    if (bytes.length > SMALL_BYTES) return false;
    if (this.#batchBytes + bytes.length > BATCH_BYTES) this.#flush();
    const isFirst = this.#batchBytes === 0;
    const cost = bytes.length + (isFirst ? DATA_FRAME_COST_BYTES : 0);
    if (cost > this.#credit) return false;
    this.#credit -= cost;
    this.#append(bytes);
    if (isFirst) soon(this.#flush);
    return true;
  }

  /** Doubles the buffer when it is full: most bodies are one small piece, and a body of many pieces takes linear time. */
  #append(bytes: Uint8Array): void {
    const needed = this.#batchBytes + bytes.length;
    if (needed > this.#batch.length) {
      const larger = new Bytes(Math.max(needed, 2 * this.#batch.length));
      set(larger, this.#batch);
      this.#batch = larger;
    }
    set(this.#batch, bytes, this.#batchBytes);
    this.#batchBytes = needed;
  }

  readonly #flush = (): void => {
    if (this.#batchBytes === 0) return;
    this.#run.data(subarray(this.#batch, 0, this.#batchBytes));
    this.#batchBytes = 0;
  };
}
