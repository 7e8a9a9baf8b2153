import type { Readable } from "node:stream";

import { bytesFrame } from "../../wire/frames.ts";
import { DATA_BYTES, DATA_FRAME_COST_BYTES, TO_GUEST, WINDOW_BYTES } from "../../wire/messages.ts";
import type { GuestConnection } from "./guest-connection.ts";

/** Of what a guest has been sent and has not taken from its socket: one that asks without reading is sent no more. */
const MAX_WAITING_BYTES = 2 * WINDOW_BYTES;

/** The body of a request, apart from its context. */
export interface RequestBody {
  readonly source: Readable;
  /** Bytes of it that a task may hold which needs all of it at once. */
  readonly mostHeld: number;
}

/** Where the body of a request goes. */
export interface UploadTarget {
  /** Bytes that the guest was sent and has not read. */
  readonly waitingBytes: number;
  data(bytes: Buffer): void;
  end(): void;
}

/** The body of a request on its way to a guest. No more of it is read than the guest has asked for. */
export class Upload {
  readonly #source: Readable;
  readonly #target: UploadTarget;
  #window: number = WINDOW_BYTES;
  /** Read, and not sent yet. */
  #rest: Buffer | null = null;
  #ended = false;
  #over = false;

  constructor(source: Readable, target: UploadTarget) {
    this.#source = source;
    this.#target = target;
    // Whoever waits for the answer hears of a client that has gone.
    source.on("error", ignore).on("data", this.#take).on("end", this.#end);
  }

  /** The guest asks for more. @throws {Error} when it cannot have read what it says it has. */
  more(bytes: number): void {
    this.#window += bytes;
    if (this.#window > WINDOW_BYTES) throw new Error("more of a body asked for than was sent");
    this.proceed();
  }

  /** Sends what may be sent now. */
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

  /** Nobody wants the rest. */
  stop(): void {
    this.#over = true;
    this.#rest = null;
    this.#source.off("data", this.#take).off("end", this.#end).pause();
  }

  readonly #take = (chunk: Buffer): void => {
    if (chunk.length === 0) return;
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

/** Where the body of this run goes. */
export function bodyTarget(line: GuestConnection, id: number): UploadTarget {
  return {
    get waitingBytes() {
      return line.waitingBytes;
    },
    data: (bytes) => line.push(bytesFrame(TO_GUEST.body, id, bytes)),
    end: () => line.push(bytesFrame(TO_GUEST.bodyEnd, id)),
  };
}

function ignore(): void {}
