import { bytesFrame, numberFrame, textFrame } from "../wire/frames.ts";
import { encodeHead } from "../wire/head.ts";
import type { LogAllowance } from "../wire/log-allowance.ts";
import { type AbortReason, type FaultMessage, FROM_GUEST, type RunContext } from "../wire/messages.ts";
import { encodeResultHint, isPath, type ResultHint } from "../wire/result-hints.ts";
import type { TransformedMessage } from "../wire/transform.ts";
import { uncurry } from "../wire/uncurry.ts";
import type { Emptied } from "./emptied.ts";
import { encodeFault } from "./faults.ts";
import type { Packages } from "./packages.ts";
import { isThenable, whenSettled } from "./promises.ts";
import type { RequestBody } from "./request-body.ts";
import { send } from "./service-link.ts";

const { parse } = JSON;
const prototype: Buffer = Buffer.prototype;
const toText = uncurry(prototype, "toString");
const Controller = AbortController;
const abortController = uncurry(AbortController.prototype, "abort");
const NONE = Buffer.alloc(0);
const microtask = queueMicrotask;
const later = setTimeout;
const clear = clearTimeout;
/**
 * The longest delay of a head that waits for its body. Most failures, for example of a name lookup or a fetch, occur sooner,
 * and then the whole run fails. After this delay, the caller receives at least the head.
 */
const HEAD_DELAY_MS = 1_000;

/** The number of bytes before the context in the payload of a `run` frame: the code id. */
const CONTEXT_START = 4;
/** The same for a `runWithBody` frame: the code id, the limit of the buffered body and the caller. */
const CONTEXT_START_WITH_BODY = 12;

/** The code that a run executes. */
export interface Enterable {
  /** The packages that it may import; null if it names none. */
  readonly packages: Packages | null;
  enter(run: Run): void;
  /** Whether the event loop shows everything that may still call the code. @param hasSignal whether it may have the signal */
  mayStall(hasSignal: boolean): boolean;
  /** Returns what the code probably meant, for a result that is empty, unless the run has reported a hint. Never throws. */
  emptyHint(value: unknown, run: Run): Emptied | null;
  /** Returns a hint that is more exact than the hint of a result, because of the text of the code; null for none. Never throws. */
  betterHint(hint: Emptied, value: unknown, run: Run): Emptied | null;
  /** The hint for code that does not wait for an async function, so that its result looks like that of other code; null for none. */
  readonly asyncCallback: Emptied | null;
  /** Called before a run of the code ends. */
  onRunEnd(): void;
  /** Returns the fault with the details that the code can add. Never throws. */
  explain(fault: FaultMessage, run: Run): FaultMessage;
  /** Returns a printed text with the positions of stacks as the author of the code sees them. Never throws. */
  asPrinted(text: string): string;
}

/** One execution. It answers once and ignores everything after the answer. */
export class Run {
  readonly id: number;
  readonly code: Enterable;
  /** Whether the last frame of the answer was sent, or the service no longer expects one. */
  over = false;
  headSent = false;
  /** The remaining log allowance; set when the run first logs. */
  logged: LogAllowance | null = null;
  /** Called when the service grants more bytes of the response body. */
  onWindow: ((bytes: number) => void) | null = null;
  /** Called before the run fails, to send the batched bytes of its response body. */
  onFault: (() => void) | null = null;
  /** Called when the run is aborted, to stop the source of its response body. */
  onAbort: (() => void) | null = null;
  /** Called before the result is sent. Returns an error that the run has not handled and should fail with, or null. */
  pendingError: (() => Error | null) | null = null;
  /** Whether the service has forgotten the run, or soon will. Later frames of the run are only log lines and late errors. */
  released = false;
  /** Whether only a fetch handler answers it. */
  isPreflight = false;
  /** An object of the code's shape that must live as long as the run. */
  held: object | null = null;
  /** The body of the request if the service streams it; otherwise the body is part of the context. */
  readonly requestBody: RequestBody | null;
  /** The context that the code has in its scope, once it was used. */
  context: object | null = null;
  /** Receives JavaScript that the service makes from texts of the code. Set while the run waits for it. */
  onTransformed: ((answer: TransformedMessage) => void) | null = null;
  /** The bytes of that body, once it was read as a whole. */
  rawBody: Uint8Array | null = null;
  readonly #contextStart: number;
  #body: unknown;
  readonly #onReleased: (id: number) => unknown;
  /** The number of `waitUntil` promises that have not settled. */
  #pendingWork = 0;
  /** Whether a `waits` frame was sent, so that the service keeps the guest. */
  #keepsGuest = false;
  #request: Buffer | string;
  /** The head that was not sent yet. */
  #head: Buffer | null = null;
  /** The timer of a head that waits for the first bytes of the body. */
  #headDelay: NodeJS.Timeout | null = null;
  #controller: AbortController | null = null;
  #aborted: AbortReason | null = null;

  /**
   * @param request The payload of the `run` or `runWithBody` frame.
   * @param onReleased Called once, when the run is over and all its `waitUntil` work has settled or is abandoned.
   */
  constructor(
    id: number,
    request: Buffer,
    code: Enterable,
    onReleased: (id: number) => unknown,
    requestBody: RequestBody | null,
  ) {
    this.id = id;
    this.requestBody = requestBody;
    this.#contextStart = requestBody ? CONTEXT_START_WITH_BODY : CONTEXT_START;
    this.code = code;
    this.#request = request;
    this.#onReleased = onReleased;
  }

  /** Copies the request out of the frame, whose buffer is valid only during the call that delivered it. */
  keepRequest(): void {
    if (typeof this.#request !== "string") this.#request = toText(this.#request, "utf8", this.#contextStart);
  }

  /** @param body The parsed body; undefined if the request has none. */
  setBody(raw: Uint8Array, body: unknown): void {
    this.rawBody = raw;
    this.#body = body;
    this.context = null;
  }

  /** Returns the request as the service described it. It is parsed only for code that reads it. */
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

  /**
   * Whether the end of the event loop means that the run never ends. If its code uses the signal, the abort of the signal may
   * end it. A run whose head was sent streams its body.
   */
  get mayStall(): boolean {
    return !this.over && !this.headSent && this.onTransformed === null && this.code.mayStall(this.#controller !== null);
  }

  /** Aborts at the deadline and when the client disconnects. It is created at the first access, because most runs never read it. */
  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new Controller();
      if (this.#aborted) abortController(this.#controller, abortError(this.#aborted));
    }
    return this.#controller.signal;
  }

  /** Reports that the code returned nothing, although its last statement, in this line, has a value. */
  reportUnreturned(line: number): void {
    if (!this.over) send(numberFrame(FROM_GUEST.unreturned, this.id, line));
  }

  /**
   * Reports that the result, which follows, is probably not what the author of the code meant.
   *
   * @param path made from names in the code, which may be long or not in ASCII. Then nothing is reported: the service ends a
   *   guest that sends a path of another form
   */
  reportHint(hint: ResultHint, path: string): void {
    if (!this.over && isPath(path)) send(bytesFrame(FROM_GUEST.resultHint, this.id, encodeResultHint(hint, path)));
  }

  result(json: string): void {
    if (this.over || this.headSent) return;
    this.#finish();
    send(textFrame(FROM_GUEST.result, this.id, json));
    this.#releaseIfDone();
  }

  fault(fault: FaultMessage): void {
    if (this.over) return;
    this.onFault?.();
    // If the head still waits, nothing was sent, so the fault replaces it as the whole answer.
    if (this.#headDelay) this.#dropHead();
    else this.#sendHead();
    this.#finish();
    send(textFrame(FROM_GUEST.fault, this.id, encodeFault(this.code.explain(fault, this))));
    this.#releaseIfDone();
  }

  /** Keeps the run in its guest after its answer until `work` has settled, but not after its deadline. */
  waitUntil(work: unknown, onRejected: (error: unknown) => void): void {
    // A released run can no longer make the service wait, but a rejection is still reported.
    const keeps = !this.released && isThenable(work);
    const onSettled = (): void => {
      if (!keeps) return;
      this.#pendingWork -= 1;
      this.#releaseIfDone();
    };
    if (keeps) {
      this.#pendingWork += 1;
      if (!this.#keepsGuest) send(bytesFrame(FROM_GUEST.waits, this.id, NONE));
      this.#keepsGuest = true;
    }
    whenSettled(work, onSettled, (error) => {
      onRejected(error);
      onSettled();
    });
  }

  /**
   * @param isDelayed Whether the head waits for the first bytes of the body, at most `HEAD_DELAY_MS`. A fault before that
   *   replaces the head.
   * @throws {TypeError} when HTTP forbids the head; the run can still send another.
   */
  head(status: number, headers: string[], isDelayed = false): void {
    if (this.over || this.headSent) return;
    const text = encodeHead({ status, headers });
    this.headSent = true;
    this.#head = textFrame(FROM_GUEST.head, this.id, text);
    if (isDelayed) this.#headDelay = later(this.#sendHead, HEAD_DELAY_MS);
    else microtask(this.#sendHead);
  }

  /** @param bytes The next bytes of the body: at most `DATA_BYTES`, within the window. */
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
    this.#releaseIfDone();
  }

  /** Called when the service gives up the run, or its remaining work. The code may continue, but its output is ignored. */
  abort(reason: AbortReason): void {
    if (this.released) return;
    if (this.#aborted === null) this.#aborted = reason;
    this.requestBody?.fail(abortError(reason));
    if (!this.over) {
      this.#finish();
      this.onAbort?.();
    }
    // The deadline also ends the `waitUntil` work. A client that disconnects does not end it.
    if (reason === "deadline") this.#release();
    if (this.#controller) abortController(this.#controller, abortError(reason));
    this.#releaseIfDone();
  }

  /** Sends the head in a microtask or with the first bytes. If the whole body is in the same write, the service can send its length. */
  readonly #sendHead = (): void => {
    if (this.#head && !this.over) send(this.#head);
    this.#dropHead();
  };

  #dropHead(): void {
    this.#head = null;
    if (this.#headDelay) clear(this.#headDelay);
    this.#headDelay = null;
  }

  #finish(): void {
    this.over = true;
    this.#dropHead();
    this.code.onRunEnd();
    if (!this.#keepsGuest) this.#release();
  }

  #releaseIfDone(): void {
    if (this.released || !this.over || this.#pendingWork > 0) return;
    this.#release();
    send(bytesFrame(FROM_GUEST.done, this.id, NONE));
  }

  #release(): void {
    if (this.released) return;
    this.released = true;
    this.requestBody?.close();
    this.#onReleased(this.id);
  }
}

function abortError(reason: AbortReason): DOMException {
  return reason === "deadline"
    ? new DOMException("the run reached its deadline", "TimeoutError")
    : new DOMException("the caller disconnected", "AbortError");
}
