import { Readable } from "node:stream";

import type { RunListener } from "../../containers/guest/guest-run.ts";
import type { Guest } from "../../containers/guest/guest.ts";
import type { RunLogSink } from "../../containers/guest/run-log.ts";
import type { EgressUse } from "../../egress/budgets.ts";
import type { Refusal } from "../../egress/faults.ts";
import type { Problem } from "../../errors.ts";
import { type AnswersBy, DATA_FRAME_COST_BYTES, type HeadMessage } from "../../wire/messages.ts";
import { COOKIE_HINT, setsCookie } from "./response-headers.ts";
import type { RunTrace } from "./run-trace.ts";

/** The outcome of a run: a buffered result, or the head and the streamed body of an answer. */
export type Outcome = Buffered | Streamed;

/** A result. */
export interface Buffered {
  readonly json: Buffer;
  /** What the author of the code probably meant, or null. */
  readonly hint: string | null;
}

/** An answer with a head. */
export interface Streamed {
  readonly head: HeadMessage;
  readonly body: AnswerBody;
  /** Whether it is the answer of a fetch handler. */
  readonly isOfHandler: boolean;
  readonly hint: string | null;
}

/** A body whose producer waits for its consumer. */
export interface AnswerBody extends Readable {
  /** Returns the whole body if it is complete, otherwise null. May be called once, before the stream is read. */
  takeWhole(): Buffer | null;
  /** Discards the body, because its answer has only a head. A body that does not end soon ends its run, as if the client had left. */
  discard(): void;
  /** Called when the guest has sent the whole body. The client may not have read it yet. */
  onComplete: (() => void) | null;
}

/** Receives the events of a run other than its outcome. */
export interface RunObserver {
  /**
   * Called once, when the guest has finished the run. This is after the outcome for streams and for `waitUntil` work.
   */
  over(): void;
  /** Called when the guest has sent the head of an answer. @param isOfHandler whether a fetch handler answers */
  responded(head: HeadMessage, isOfHandler: boolean): void;
  /** Called before a result, with what the author of the code probably meant. @returns the hint without the secrets of the run */
  hinted(hint: string): string;
  /** Called when the guest has sent the whole answer. */
  succeeded(): void;
  /** Called if the run fails. @param isCut whether the head of its answer was sent before, so that the answer is cut. */
  failed(problem: Problem, isCut: boolean): void;
  /** Called if the egress policy refuses a destination to the task. */
  refused(refusal: Refusal): void;
  /** Called when the run first uses the network. */
  usesEgress(use: EgressUse): void;
  readonly logSink: RunLogSink;
}

/** The service's side of a run. Converts the frames of the guest to an outcome. */
export class Execution implements RunListener {
  readonly outcome: Promise<Outcome>;
  readonly trace: RunTrace;
  /** Its place among the active runs, which only `ActiveRuns` changes; null if it has none. */
  activePlace: number | null = null;
  readonly #resolve: (outcome: Outcome) => void;
  readonly #reject: (problem: Problem) => void;
  /** Made for the few callers that wait for it. */
  #abandoned: PromiseWithResolvers<null> | null = null;
  #isAbandoned = false;
  readonly #observer: RunObserver;
  #guest: Guest | null = null;
  #id = 0;
  #body: Body | null = null;
  #hint: string | null = null;

  constructor(observer: RunObserver, trace: RunTrace) {
    this.trace = trace;
    const { promise, resolve, reject } = Promise.withResolvers<Outcome>();
    this.outcome = promise;
    this.#resolve = resolve;
    this.#reject = reject;
    this.#observer = observer;
  }

  /** Sets the guest and the id of the run in this guest. */
  begin(guest: Guest, id: number): void {
    this.#guest = guest;
    this.#id = id;
  }

  get logSink(): RunLogSink {
    return this.#observer.logSink;
  }

  /** Abandons the run, because its client has disconnected and does not need the outcome any more. */
  abandon(): void {
    this.#guest?.inFlight.abandon(this.#id);
    this.#isAbandoned = true;
    this.#abandoned?.resolve(null);
  }

  /**
   * Returns the outcome, or null if the run is abandoned before. Its guest is not asked any more then, so that `outcome` never
   * settles, and work that waits for it would count for ever.
   */
  get outcomeOrNone(): Promise<Outcome | null> {
    this.#abandoned ??= Promise.withResolvers();
    if (this.#isAbandoned) this.#abandoned.resolve(null);
    return Promise.race([this.outcome, this.#abandoned.promise]);
  }

  /**
   * Ends the run at any point, and replaces its guest when possible, because only the end of the guest stops code that keeps running. The
   * other runs are not at fault, so they may finish.
   */
  kill(problem: Problem): void {
    this.#guest?.inFlight.kill(this.#id, problem);
  }

  /** Cancels the run for its caller. Unlike after `kill`, the guest keeps taking runs, because other callers may share it. */
  cancel(problem: Problem): void {
    this.#guest?.inFlight.cancel(this.#id, problem);
  }

  hinted(hint: string): void {
    this.#hint = this.#observer.hinted(hint);
  }

  result(json: Buffer): void {
    this.#observer.succeeded();
    this.#resolve({ json, hint: this.#hint });
  }

  head(head: HeadMessage, answersBy: AnswersBy = "value"): void {
    const isOfHandler = answersBy === "fetch";
    this.#observer.responded(head, isOfHandler);
    if (this.#hint === null && setsCookie(head.headers)) this.hinted(COOKIE_HINT);
    this.#body = new Body(
      (bytes) => this.#guest?.inFlight.grant(this.#id, bytes),
      () => this.abandon(),
    );
    this.#resolve({ head, body: this.#body, isOfHandler, hint: this.#hint });
  }

  data(bytes: Buffer): void {
    this.#body?.add(bytes);
  }

  end(): void {
    this.#observer.succeeded();
    this.#body?.finish();
  }

  fault(problem: Problem): void {
    const isCut = this.#body !== null;
    this.#observer.failed(problem, isCut);
    // After the head no other answer is possible. The body is cut, so that the client sees that it is incomplete.
    if (this.#body) this.#body.destroy(problem);
    else this.#reject(problem);
  }

  over(): void {
    this.#observer.over();
  }

  refused(refusal: Refusal): void {
    this.#observer.refused(refusal);
  }

  usesEgress(use: EgressUse): void {
    this.#observer.usesEgress(use);
  }
}

const EMPTY = Buffer.alloc(0);
/** How many times larger than a view its buffer may be. A larger buffer would waste memory, so the view is copied. */
const MAX_BUFFER_RATIO = 4;
/** How much of a body is discarded, and for how long, until its run is abandoned. */
const MAX_DISCARDED_BYTES = 256 * 2 ** 10;
const MAX_DISCARD_MS = 1_000;

/** A body that grants its bytes to the guest again after the client has read them. */
class Body extends Readable implements AnswerBody {
  onComplete: (() => void) | null = null;
  readonly #grant: (bytes: number) => void;
  readonly #abandon: () => void;
  #unread = 0;
  #whole = false;

  constructor(grant: (bytes: number) => void, abandon: () => void) {
    // The stream must not read ahead. Node counts only bytes, so it would buffer 65 536 frames of single bytes.
    super({ highWaterMark: 0 });
    this.#grant = grant;
    this.#abandon = abandon;
    // The body may fail before it has a reader, and an unhandled error event would end the service.
    this.on("error", () => {});
  }

  add(bytes: Buffer): void {
    const cost = bytes.length + DATA_FRAME_COST_BYTES;
    if (this.destroyed) return this.#grant(cost);
    this.#unread += cost;
    this.push(compact(bytes));
  }

  finish(): void {
    this.#whole = true;
    this.push(null);
    this.onComplete?.();
  }

  takeWhole(): Buffer | null {
    if (!this.#whole || this.destroyed) return null;
    return (this.read() as Buffer | null) ?? EMPTY;
  }

  discard(): void {
    let left = MAX_DISCARDED_BYTES;
    const stop = (): void => {
      this.#abandon();
      this.destroy();
    };
    const timer = setTimeout(stop, MAX_DISCARD_MS).unref();
    this.once("close", () => clearTimeout(timer));
    this.on("data", (chunk: Buffer) => {
      left -= chunk.length;
      if (left < 0) stop();
    });
  }

  override _read(): void {
    const bytes = this.#unread;
    this.#unread = 0;
    this.#grant(bytes);
  }
}

/**
 * Copies a small view of a large buffer. A guest can send a single byte of a body within a large chunk of other frames.
 * The service would otherwise keep the chunk in memory until the client has read this byte.
 */
function compact(bytes: Buffer): Uint8Array {
  // Buffer.from would use Node's pool, where one byte keeps the whole block of the pool in memory.
  return bytes.length * MAX_BUFFER_RATIO < bytes.buffer.byteLength ? new Uint8Array(bytes) : bytes;
}
