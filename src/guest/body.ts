import { DATA_BYTES, DATA_FRAME_COST_BYTES, WINDOW_BYTES } from "../wire/messages.ts";
import { uncurry } from "../wire/uncurry.ts";
import type { Run } from "./run.ts";

const lowerCase = uncurry(String.prototype as string, "toLowerCase");
const set = uncurry(Uint8Array.prototype, "set");
const subarray = uncurry(Uint8Array.prototype, "subarray");
const Bytes = Uint8Array;
const NONE = new Uint8Array();
const NativePromise = Promise;
/** After all promises that are settled: what a stream holds already has been handed over by then. */
const soon = process.nextTick.bind(process);
/** Larger pieces are worth a frame of their own. */
const SMALL_BYTES = 4_096;
const JOINED_BYTES = 16_384;
/** Of one connection only (RFC 9110, 7.6.1), or made by the service's own HTTP layer. */
const HOP_BY_HOP = ["connection", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade"];

/** Sends the head and then the bytes of a run's answer, never more than the service has asked for. */
export class Body {
  readonly #run: Run;
  #credit: number = WINDOW_BYTES;
  #wake: (() => void) | null = null;
  /** Small pieces of this turn. Their frame is paid for already, so nothing can keep it back. */
  #joined: Uint8Array = NONE;
  #joinedBytes = 0;

  /** @param stop Called when the run is aborted, so that what feeds the body can stop. */
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
   * @param held It waits for the first bytes, as `Run.head` says.
   * @throws {TypeError} when no answer can have such a status or header.
   */
  head(status: number, headers: string[], held = false): void {
    const kept: string[] = [];
    for (let at = 0; at + 1 < headers.length; at += 2) {
      if (!HOP_BY_HOP.includes(lowerCase(headers[at]!))) kept.push(headers[at]!, headers[at + 1]!);
    }
    this.#run.head(status, kept, held);
  }

  /** Sends what the window allows; returns a promise only for the rest. */
  write(bytes: Uint8Array): Promise<void> | null {
    if (this.#run.over || this.#join(bytes)) return null;
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

  /** The service counts as this does, and ends a guest that sends more: the credit never falls below zero. */
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

  /** Puts a small piece to those before it, in one frame for all that a task writes in a turn. Says whether it could. */
  #join(bytes: Uint8Array): boolean {
    if (bytes.length === 0) return true;
    if (bytes.length > SMALL_BYTES) return false;
    if (this.#joinedBytes + bytes.length > JOINED_BYTES) this.#flush();
    const isFirst = this.#joinedBytes === 0;
    const cost = bytes.length + (isFirst ? DATA_FRAME_COST_BYTES : 0);
    if (cost > this.#credit) return false;
    this.#credit -= cost;
    this.#keep(bytes);
    if (isFirst) soon(this.#flush);
    return true;
  }

  /** Doubles what it holds: most bodies are one small piece, and no body is joined in quadratic time. */
  #keep(bytes: Uint8Array): void {
    const needed = this.#joinedBytes + bytes.length;
    if (needed > this.#joined.length) {
      const larger = new Bytes(Math.max(needed, 2 * this.#joined.length));
      set(larger, this.#joined);
      this.#joined = larger;
    }
    set(this.#joined, bytes, this.#joinedBytes);
    this.#joinedBytes = needed;
  }

  readonly #flush = (): void => {
    if (this.#joinedBytes === 0) return;
    this.#run.data(subarray(this.#joined, 0, this.#joinedBytes));
    this.#joinedBytes = 0;
  };
}
