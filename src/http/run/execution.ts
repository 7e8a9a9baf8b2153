import { Readable } from "node:stream";

import type { RunListener } from "../../containers/guest/guest-run.ts";
import type { Guest } from "../../containers/guest/guest.ts";
import type { RunLogSink } from "../../containers/guest/run-log.ts";
import type { Refusal } from "../../egress/faults.ts";
import type { Problem } from "../../errors.ts";
import { DATA_FRAME_COST_BYTES, type HeadMessage } from "../../wire/messages.ts";

/** What a run came to: a buffered result, or the head of an answer whose body streams. */
export type Outcome = { readonly json: Buffer } | { readonly head: HeadMessage; readonly body: AnswerBody };

/** A body whose producer waits for its consumer. */
export interface AnswerBody extends Readable {
  /** All of it, when it has come to its end already; else null. To be read once, and instead of the stream. */
  takeWhole(): Buffer | null;
  /** Called when it has come to its end, which is before it has been read to it. */
  onMade: (() => void) | null;
}

/** Who wants to know more of a run than its outcome. */
export interface RunObserver {
  /** Once: the guest is done with the run. For a stream, and where `waitUntil` was given work, that is after its outcome. */
  over(): void;
  /** A stream broke after its head. */
  broke(problem: Problem): void;
  /** The task asked for a place that it may not reach. */
  refused(refusal: Refusal): void;
  readonly logSink: RunLogSink;
}

/** The service's end of one run: turns what the guest says into an outcome that can be awaited. */
export class Execution implements RunListener {
  readonly outcome: Promise<Outcome>;
  readonly #resolve: (outcome: Outcome) => void;
  readonly #reject: (problem: Problem) => void;
  readonly #observer: RunObserver;
  #guest: Guest | null = null;
  #id = 0;
  #body: Body | null = null;

  constructor(observer: RunObserver) {
    const { promise, resolve, reject } = Promise.withResolvers<Outcome>();
    this.outcome = promise;
    this.#resolve = resolve;
    this.#reject = reject;
    this.#observer = observer;
  }

  /** Says which run of which guest it is. */
  begin(guest: Guest, id: number): void {
    this.#guest = guest;
    this.#id = id;
  }

  get logSink(): RunLogSink {
    return this.#observer.logSink;
  }

  /** The client has left: nobody waits for the outcome any more. */
  abandon(): void {
    this.#guest?.abandon(this.#id);
  }

  /**
   * Ends it, whatever it is at. Its guest takes no further run and ends when those beside it have: none of them is to
   * blame, and nothing else stops code that goes on.
   */
  kill(problem: Problem): void {
    this.#guest?.abort(this.#id, "gone");
    this.#guest?.fail(this.#id, problem);
    this.#guest?.retire();
  }

  result(json: Buffer): void {
    this.#resolve({ json });
  }

  head(head: HeadMessage): void {
    this.#body = new Body((bytes) => this.#guest?.grant(this.#id, bytes));
    this.#resolve({ head, body: this.#body });
  }

  data(bytes: Buffer): void {
    this.#body?.add(bytes);
  }

  end(): void {
    this.#body?.finish();
  }

  fault(problem: Problem): void {
    // After a head there is no other answer to give: the body is cut, so that nobody takes it for whole.
    if (!this.#body) return this.#reject(problem);
    this.#observer.broke(problem);
    this.#body.destroy(problem);
  }

  over(): void {
    this.#observer.over();
  }

  refused(refusal: Refusal): void {
    this.#observer.refused(refusal);
  }
}

const NOTHING = Buffer.alloc(0);
/** A view of this much less than what it is a view of holds the rest in memory for nothing. */
const MOST_HELD = 4;

/** What has been read of it is granted to the guest again. */
class Body extends Readable implements AnswerBody {
  onMade: (() => void) | null = null;
  readonly #grant: (bytes: number) => void;
  #unread = 0;
  #whole = false;

  constructor(grant: (bytes: number) => void) {
    // Nothing ahead of its reader: Node counts bytes only, and so would have a body of single bytes read 65 536 frames ahead.
    super({ highWaterMark: 0 });
    this.#grant = grant;
    // It may break before anybody reads it, and an error that nobody hears would end the service.
    this.on("error", () => {});
  }

  add(bytes: Buffer): void {
    const cost = bytes.length + DATA_FRAME_COST_BYTES;
    if (this.destroyed) return this.#grant(cost);
    this.#unread += cost;
    this.push(withoutRest(bytes));
  }

  finish(): void {
    this.#whole = true;
    this.push(null);
    this.onMade?.();
  }

  takeWhole(): Buffer | null {
    if (!this.#whole || this.destroyed) return null;
    return (this.read() as Buffer | null) ?? NOTHING;
  }

  override _read(): void {
    const bytes = this.#unread;
    this.#unread = 0;
    this.#grant(bytes);
  }
}

/** A guest can send one byte in the midst of a large chunk of noise: until it was read the service would hold the chunk. */
function withoutRest(bytes: Buffer): Uint8Array {
  // Not Buffer.from: in its pool one byte holds the bytes of others.
  return bytes.length * MOST_HELD < bytes.buffer.byteLength ? new Uint8Array(bytes) : bytes;
}
