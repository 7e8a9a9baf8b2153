import { setTimeout } from "node:timers/promises";

import { request } from "../../test/contract/http.ts";

/** The results of the requests in a span of time. */
export interface Span {
  /** The number of responses by status; 0 means no response. */
  readonly answers: ReadonlyMap<number, number>;
  readonly longestMs: number;
}

interface CallerOptions {
  readonly callers: number;
  readonly containers: number;
  /** The time between the answer to a caller and its next request. */
  readonly betweenMs: number;
}

/** Clients that each wait for a response and then send the next request. */
export class Callers {
  readonly #port: number;
  readonly #token: string;
  readonly #containers: number;
  readonly #betweenMs: number;
  readonly #stop = new AbortController();
  readonly #callers: Promise<void>[];
  #answers = new Map<number, number>();
  #longestMs = 0;
  #lastDecidedMs = performance.now();
  #lastLostMs = 0;
  readonly #admitted = new Map<string, number>();

  constructor(port: number, token: string, { callers, containers, betweenMs }: CallerOptions) {
    this.#port = port;
    this.#token = token;
    this.#containers = containers;
    this.#betweenMs = betweenMs;
    this.#callers = Array.from({ length: callers }, (_, number) => this.#call(number));
  }

  /** The number of successful runs, by container. */
  get admitted(): ReadonlyMap<string, number> {
    return this.#admitted;
  }

  /** When a run last succeeded or was refused by its limit, on the clock of `performance.now()`. */
  get lastDecidedMs(): number {
    return this.#lastDecidedMs;
  }

  /** When a run last had another result, on the same clock. */
  get lastLostMs(): number {
    return this.#lastLostMs;
  }

  /** Returns the results since the last call. */
  take(): Span {
    const span = { answers: this.#answers, longestMs: this.#longestMs };
    this.#answers = new Map();
    this.#longestMs = 0;
    return span;
  }

  async end(): Promise<void> {
    this.#stop.abort();
    await Promise.all(this.#callers);
  }

  async #call(number: number): Promise<void> {
    for (let turn = number; !this.#stop.signal.aborted; turn++) {
      const container = `scale-${turn % this.#containers}`;
      const sentMs = performance.now();
      const status = await this.#run(container);
      const nowMs = performance.now();
      this.#answers.set(status, (this.#answers.get(status) ?? 0) + 1);
      this.#longestMs = Math.max(this.#longestMs, nowMs - sentMs);
      if (status === 200 || status === 429) this.#lastDecidedMs = nowMs;
      else this.#lastLostMs = nowMs;
      if (status === 200) {
        this.#admitted.set(container, (this.#admitted.get(container) ?? 0) + 1);
      }
      if (this.#betweenMs > 0) await setTimeout(this.#betweenMs);
    }
  }

  async #run(container: string): Promise<number> {
    try {
      const answer = await request(this.#port, "POST", `/api/run/${container}`, { token: this.#token, body: "6 * 7" });
      return answer.complete ? answer.status : 0;
    } catch {
      return 0;
    }
  }
}
