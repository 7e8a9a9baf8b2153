import type { Readable } from "node:stream";

import { bytesFrame } from "../../wire/frames.ts";
import { DATA_BYTES, DATA_FRAME_COST_BYTES, TO_GUEST, WINDOW_BYTES } from "../../wire/messages.ts";
import type { GuestConnection } from "./guest-connection.ts";

/** The maximum number of unread bytes for a guest. A guest that opens windows without reading receives no more. */
const MAX_WAITING_BYTES = 2 * WINDOW_BYTES;

/** The body of a request that is not a part of its context. */
export interface RequestBody {
  readonly source: Readable;
  /** The sender: a token family, or the site of a client without a token. Senders share the memory that a guest has for bodies. */
  readonly caller: string;
  /** The maximum length for a task that needs the whole body at once. */
  readonly mostHeld: number;
  /** Called with each chunk of the body that is read for the task. */
  readonly onRead: ((chunk: Buffer) => void) | null;
}

/** Receives the body of a request. */
export interface UploadTarget {
  /** The number of bytes that were sent to the guest and that it has not read. */
  readonly waitingBytes: number;
  data(bytes: Buffer): void;
  end(): void;
}

/** Sends the body of a request to a guest. It reads no more of the body than the guest has requested. */
export class Upload {
  readonly #source: Readable;
  readonly #onRead: RequestBody["onRead"];
  readonly #target: UploadTarget;
  #window: number = WINDOW_BYTES;
  /** Bytes that were read and not sent yet. */
  #rest: Buffer | null = null;
  #ended = false;
  #over = false;

  constructor({ source, onRead }: Pick<RequestBody, "source" | "onRead">, target: UploadTarget) {
    this.#source = source;
    this.#onRead = onRead;
    this.#target = target;
    // Ignored here: the run's listener detects a client that has left.
    source.on("error", ignore).on("data", this.#take).on("end", this.#end);
  }

  /** Whether a part of the body may still reach the guest. */
  get isOpen(): boolean {
    return !this.#over;
  }

  /** Opens the window as the guest requests. @throws {Error} if the guest cannot have read what it acknowledges. */
  more(bytes: number): void {
    this.#window += bytes;
    if (this.#window > WINDOW_BYTES) throw new Error("a window for more of a body than was sent");
    this.proceed();
  }

  /** Sends as much as the window and the socket allow. */
  proceed(): void {
    if (this.#over) return;
    while (this.#rest && this.#window > DATA_FRAME_COST_BYTES && this.#target.waitingBytes < MAX_WAITING_BYTES) {
      const piece = this.#rest.subarray(0, Math.min(DATA_BYTES, this.#window - DATA_FRAME_COST_BYTES));
      this.#window -= piece.length + DATA_FRAME_COST_BYTES;
      this.#rest = piece.length === this.#rest.length ? null : this.#rest.subarray(piece.length);
      this.#target.data(piece);
    }
    if (this.#rest) return;
    if (this.#ended) this.#finish();
    else if (this.#source.isPaused()) this.#source.resume();
  }

  /** Stops reading the source, because the run has ended. */
  stop(): void {
    this.#over = true;
    this.#rest = null;
    this.#source.off("data", this.#take).off("end", this.#end).pause();
  }

  readonly #take = (chunk: Buffer): void => {
    if (chunk.length === 0) return;
    this.#onRead?.(chunk);
    this.#rest = chunk;
    this.proceed();
    if (this.#rest) this.#source.pause();
  };

  readonly #end = (): void => {
    this.#ended = true;
    this.proceed();
  };

  #finish(): void {
    this.#over = true;
    this.#target.end();
  }
}

/** Returns the target for the body of a run. */
export function bodyTarget(connection: GuestConnection, id: number): UploadTarget {
  return {
    get waitingBytes() {
      return connection.waitingBytes;
    },
    data: (bytes) => connection.push(bytesFrame(TO_GUEST.body, id, bytes)),
    end: () => connection.push(bytesFrame(TO_GUEST.bodyEnd, id)),
  };
}

function ignore(): void {}
