import { Readable } from "node:stream";

import type { Guest, RunListener } from "../containers/guest.ts";
import type { Problem } from "../errors.ts";
import type { HeadMessage } from "../wire/messages.ts";

/** What a run came to: a buffered result, or the head of an answer whose body streams. */
export type Outcome = { readonly json: Buffer } | { readonly head: HeadMessage; readonly body: Readable };

/** The service's end of one run: turns what the guest says into an outcome that can be awaited. */
export class Execution implements RunListener {
  readonly outcome: Promise<Outcome>;
  readonly #resolve: (outcome: Outcome) => void;
  readonly #reject: (problem: Problem) => void;
  readonly #onOver: () => void;
  readonly #onLog: (level: number, text: string) => void;
  #guest: Guest | null = null;
  #id = 0;
  #body: Body | null = null;
  #over = false;

  /** @param onOver is called once, when the guest is done with the run: for a stream that is after its outcome. */
  constructor(onOver: () => void, onLog: (level: number, text: string) => void) {
    const { promise, resolve, reject } = Promise.withResolvers<Outcome>();
    this.outcome = promise;
    this.#resolve = resolve;
    this.#reject = reject;
    this.#onOver = onOver;
    this.#onLog = onLog;
  }

  /** Says which run of which guest it is. */
  begin(guest: Guest, id: number): void {
    this.#guest = guest;
    this.#id = id;
  }

  /** The client has left: nobody waits for the outcome any more. */
  abandon(): void {
    this.#guest?.abandon(this.#id);
    this.#finish();
  }

  result(json: Buffer): void {
    this.#resolve({ json });
    this.#finish();
  }

  head(head: HeadMessage): void {
    this.#body = new Body((bytes) => this.#guest?.grant(this.#id, bytes));
    this.#resolve({ head, body: this.#body });
  }

  data(bytes: Buffer): void {
    this.#body?.add(bytes);
  }

  end(): void {
    this.#body?.push(null);
    this.#finish();
  }

  fault(problem: Problem): void {
    this.#finish();
    // After a head there is no other answer to give: the body is cut, so that nobody takes it for whole.
    if (this.#body) this.#body.destroy(problem);
    else this.#reject(problem);
  }

  /** Once: the client may leave while the last of a stream is on its way. */
  #finish(): void {
    if (!this.#over) this.#onOver();
    this.#over = true;
  }

  log(level: number, text: string): void {
    this.#onLog(level, text);
  }
}

/** A body whose producer waits for its consumer: what has been read is granted to the guest again. */
class Body extends Readable {
  readonly #grant: (bytes: number) => void;
  #unread = 0;

  constructor(grant: (bytes: number) => void) {
    super();
    this.#grant = grant;
  }

  add(bytes: Buffer): void {
    if (this.destroyed) return this.#grant(bytes.length);
    this.#unread += bytes.length;
    this.push(bytes);
  }

  override _read(): void {
    const bytes = this.#unread;
    this.#unread = 0;
    this.#grant(bytes);
  }
}
