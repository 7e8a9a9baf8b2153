import { once } from "node:events";
import { Worker } from "node:worker_threads";

import type { Answer } from "../../test/contract/http.ts";

export interface Timed {
  readonly answer: Answer;
  /** From the request to the end of its answer. */
  readonly tookMs: number;
}

/** To the thread: a run, in `container`. */
export interface Ask {
  readonly id: number;
  readonly container: string;
  readonly code: string;
  readonly token: string;
}

/** From the thread. Functions cannot be sent, and an answer's `json` is none that a soak asks for. */
export type Told = { readonly id: number } & (
  | { readonly answer: Omit<Answer, "json">; readonly tookMs: number }
  | { readonly error: string }
);

/**
 * Runs whose time is taken. They are sent from a thread that does nothing else: while this one makes the load and reads
 * megabytes of answers, an answer that is there would wait for it, and that is no time of the service.
 */
export class TimedRuns {
  readonly #thread: Worker;
  readonly #asked: Map<number, PromiseWithResolvers<Timed>> = new Map();
  #last = 0;

  private constructor(thread: Worker) {
    this.#thread = thread;
    thread.on("message", (told: Told) => this.#hear(told));
    thread.on("error", (error) => {
      for (const { reject } of this.#asked.values()) reject(error);
    });
  }

  static async open(port: number): Promise<TimedRuns> {
    const thread = new Worker(new URL("timed-runs-thread.ts", import.meta.url), { workerData: port });
    // A soak that breaks off ends.
    thread.unref();
    await once(thread, "online");
    return new TimedRuns(thread);
  }

  run(container: string, code: string, token: string): Promise<Timed> {
    const id = ++this.#last;
    const asked = Promise.withResolvers<Timed>();
    this.#asked.set(id, asked);
    this.#thread.postMessage({ id, container, code, token } satisfies Ask, []);
    return asked.promise;
  }

  async close(): Promise<void> {
    await this.#thread.terminate();
  }

  #hear(told: Told): void {
    const asked = this.#asked.get(told.id)!;
    this.#asked.delete(told.id);
    if ("error" in told) return asked.reject(new Error(told.error));
    const { answer, tookMs } = told;
    asked.resolve({ answer: { ...answer, json: (): unknown => JSON.parse(answer.text) }, tookMs });
  }
}
