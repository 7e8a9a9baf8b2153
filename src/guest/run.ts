import { AsyncLocalStorage } from "node:async_hooks";

import { bytesFrame, textFrame } from "../wire/frames.ts";
import { encodeHead } from "../wire/head.ts";
import type { LogAllowance } from "../wire/log-allowance.ts";
import { type AbortReason, type FaultMessage, FROM_GUEST, type RunContext } from "../wire/messages.ts";
import { uncurry } from "../wire/uncurry.ts";
import { encodeFault } from "./faults.ts";
import { send } from "./link.ts";
import { isThenable, whenSettled } from "./promises.ts";
import type { Incoming } from "./request-body.ts";

const { parse } = JSON;
const prototype: Buffer = Buffer.prototype;
const toText = uncurry(prototype, "toString");
const storage = new AsyncLocalStorage<Run>();
const runIn = storage.run.bind(storage);
const Controller = AbortController;
const abortController = uncurry(AbortController.prototype, "abort");
const NONE = Buffer.alloc(0);
const microtask = queueMicrotask;
const later = setTimeout;
const clear = clearTimeout;
/**
 * A head that is held leaves after so long without a body: what fails at first, a name or a fetch, mostly fails sooner,
 * and what waits longer shall not keep its caller waiting for a sign of life.
 */
const HELD_MS = 1_000;

/** Bytes before the context in the payload of a `run` frame: the code's id. */
const CONTEXT_START = 4;
/** And how much of a body may be held. */
const CONTEXT_START_WITH_BODY = 8;

/** The run to which the code that executes now belongs. Costs 0.2 µs a run; without it nothing asynchronous could be told apart. */
export const currentRun: () => Run | undefined = storage.getStore.bind(storage);

/** Calls `step(run)` so that all that comes of it, callbacks and promises too, finds `run` in `currentRun()`. */
export function enterRun(run: Run, step: (run: Run) => void): void {
  runIn(run, step, run);
}

/** What a run executes. */
export interface Enterable {
  enter(run: Run): void;
  /** A run of it is about to be over. */
  leave(): void;
  /** A fault of one of its runs, with what else is known of it. Never throws. */
  explain(fault: FaultMessage): FaultMessage;
}

/** One execution. It answers once; whatever comes after the answer is dropped here. */
export class Run {
  readonly id: number;
  readonly code: Enterable;
  /** The last frame was sent, or the service expects none any more. */
  over = false;
  headSent = false;
  /** What this run may still log; made when it first logs. */
  logged: LogAllowance | null = null;
  /** More of the body may be sent. */
  onWindow: ((bytes: number) => void) | null = null;
  /** The run is about to fail: what its body holds back must leave before. */
  onFault: (() => void) | null = null;
  /** The run was aborted: what feeds its body must stop. */
  onAbort: (() => void) | null = null;
  /** Asked before its result: the error of which nobody would hear then, or null. */
  unheard: (() => Error | null) | null = null;
  /** The service has forgotten it, or soon will: nothing is sent of it that has to be heard. */
  gone = false;
  /** The body of its request, where that comes apart from the context. */
  readonly incoming: Incoming | null;
  /** That body as it came, when all of it was needed. */
  raw: Uint8Array | null = null;
  readonly #contextStart: number;
  #body: unknown;
  readonly #onOver: (id: number) => unknown;
  /** What `waitUntil` was given and has not settled. */
  #waiting = 0;
  /** The service was told to keep the guest for it. */
  #keeps = false;
  #request: Buffer | string;
  /** The head that has not left yet. */
  #head: Buffer | null = null;
  /** That head is held back for the first of its body. */
  #held: NodeJS.Timeout | null = null;
  #controller: AbortController | null = null;
  #aborted: AbortReason | null = null;

  /**
   * @param request The payload of the `run` or `runWithBody` frame.
   * @param onOver Called once, when nothing more is to come, and no work that the run left behind is waited for.
   */
  constructor(
    id: number,
    request: Buffer,
    code: Enterable,
    onOver: (id: number) => unknown,
    incoming: Incoming | null,
  ) {
    this.id = id;
    this.incoming = incoming;
    this.#contextStart = incoming ? CONTEXT_START_WITH_BODY : CONTEXT_START;
    this.code = code;
    this.#request = request;
    this.#onOver = onOver;
  }

  /** Keeps what the frame said beyond the call that delivered it. */
  keepRequest(): void {
    if (typeof this.#request !== "string") this.#request = toText(this.#request, "utf8", this.#contextStart);
  }

  /** @param body what it was read as, undefined where there is none. */
  setBody(raw: Uint8Array, body: unknown): void {
    this.raw = raw;
    this.#body = body;
  }

  /** The request as the service described it; parsed only for codes that look at it. */
  request(): RunContext {
    this.keepRequest();
    const text = this.#request as string;
    if (text !== "") {
      const request = parse(text) as RunContext;
      if (this.#body !== undefined) request.body = this.#body;
      return request;
    }
    return { runId: "", container: "", method: "GET", url: "http://localhost/", headers: {} };
  }

  /** Aborts at the deadline and when the client goes away; made when it is first asked for, because most never ask. */
  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new Controller();
      if (this.#aborted) abortController(this.#controller, abortError(this.#aborted));
    }
    return this.#controller.signal;
  }

  result(json: string): void {
    if (this.over || this.headSent) return;
    this.#finish();
    send(textFrame(FROM_GUEST.result, this.id, json));
    this.#leaveIfDone();
  }

  fault(fault: FaultMessage): void {
    if (this.over) return;
    this.onFault?.();
    // While it is held nothing has left, and the fault is a whole answer.
    if (this.#held) this.#dropHead();
    else this.#sendHead();
    this.#finish();
    send(textFrame(FROM_GUEST.fault, this.id, encodeFault(this.code.explain(fault))));
    this.#leaveIfDone();
  }

  /** Keeps the run in its guest until `work` has settled, beyond its answer, but not beyond its deadline. */
  waitUntil(work: unknown, onRejected: (error: unknown) => void): void {
    // Nobody can be asked to wait any more. Its failure is heard all the same.
    const keeps = !this.gone && isThenable(work);
    const settled = (): void => {
      if (!keeps) return;
      this.#waiting -= 1;
      this.#leaveIfDone();
    };
    if (keeps) {
      this.#waiting += 1;
      if (!this.#keeps) send(bytesFrame(FROM_GUEST.waits, this.id, NONE));
      this.#keeps = true;
    }
    whenSettled(work, settled, (error) => {
      onRejected(error);
      settled();
    });
  }

  /**
   * @param held It leaves with the first of the body, or soon without; a fault before that is answered in its place.
   * @throws {TypeError} when no answer can have such a head; another may still be sent.
   */
  head(status: number, headers: string[], held = false): void {
    if (this.over || this.headSent) return;
    const text = encodeHead({ status, headers });
    this.headSent = true;
    this.#head = textFrame(FROM_GUEST.head, this.id, text);
    if (held) this.#held = later(this.#sendHead, HELD_MS);
    else microtask(this.#sendHead);
  }

  /** @param bytes At most `DATA_BYTES`, within the window. */
  data(bytes: Uint8Array): void {
    if (this.over) return;
    this.#sendHead();
    send(bytesFrame(FROM_GUEST.data, this.id, bytes));
  }

  end(): void {
    if (this.over) return;
    this.#sendHead();
    this.#finish();
    send(bytesFrame(FROM_GUEST.end, this.id, NONE));
    this.#leaveIfDone();
  }

  /** The service gave the run up, or what is left of it. Its code may go on, but nobody listens. */
  abort(reason: AbortReason): void {
    if (this.gone) return;
    if (this.#aborted === null) this.#aborted = reason;
    this.incoming?.fail(abortError(reason));
    if (!this.over) {
      this.#finish();
      this.onAbort?.();
    }
    // Who left does not take with them what the run has promised to others; the deadline does.
    if (reason === "deadline") this.#leave();
    if (this.#controller) abortController(this.#controller, abortError(reason));
    this.#leaveIfDone();
  }

  /** With the body, where that is there at once: the service then knows how long it is. */
  readonly #sendHead = (): void => {
    if (this.#head && !this.over) send(this.#head);
    this.#dropHead();
  };

  #dropHead(): void {
    this.#head = null;
    if (this.#held) clear(this.#held);
    this.#held = null;
  }

  #finish(): void {
    this.over = true;
    this.#dropHead();
    this.code.leave();
    if (!this.#keeps) this.#leave();
  }

  #leaveIfDone(): void {
    if (this.gone || !this.over || this.#waiting > 0) return;
    this.#leave();
    send(bytesFrame(FROM_GUEST.done, this.id, NONE));
  }

  #leave(): void {
    if (this.gone) return;
    this.gone = true;
    this.incoming?.fail(new Error("the run is over, and nothing more of its request comes"));
    this.#onOver(this.id);
  }
}

function abortError(reason: AbortReason): DOMException {
  return reason === "deadline"
    ? new DOMException("the run reached its deadline", "TimeoutError")
    : new DOMException("the caller went away", "AbortError");
}
