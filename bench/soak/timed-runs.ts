import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";

import type { Answer } from "../../test/contract/http.ts";

export interface Timed {
  readonly answer: Answer;
  /** From the request to the end of its answer. */
  readonly tookMs: number;
}

/** To the process: a run, in `container`. */
export interface Ask {
  readonly id: number;
  readonly container: string;
  readonly code: string;
  readonly token: string;
}

/** From the process. Functions cannot be sent, and an answer's `json` is none that a soak asks for. */
export type Told = { readonly id: number } & (
  | { readonly answer: Omit<Answer, "json">; readonly tookMs: number }
  | { readonly error: string }
);

/**
 * Runs whose time is taken. They are sent from a process that does nothing else: while this one makes the load and reads
 * megabytes of answers, an answer that is there would wait for it, and that is no time of the service.
 *
 * Real callers sit elsewhere, and wait for no processor of the service's. So that process comes before all guests, and
 * after the service, which must not wait for its caller either (sched(7), the autogroup feature). The one that makes the
 * load has no such place.
 */
export class TimedRuns {
  readonly #caller: ChildProcess;
  readonly #asked: Map<number, PromiseWithResolvers<Timed>> = new Map();
  #last = 0;

  private constructor(caller: ChildProcess) {
    this.#caller = caller;
    caller.on("message", (told: Told) => this.#hear(told));
    caller.once("exit", () => {
      for (const { reject } of this.#asked.values()) reject(new Error("the process that takes times has ended"));
    });
  }

  static async open(port: number): Promise<TimedRuns> {
    // A session of its own is an autogroup of its own.
    const own = { detached: true, serialization: "advanced" } as const;
    const caller = fork(new URL("timed-runs-process.ts", import.meta.url), [String(port)], own);
    await once(caller, "spawn");
    // A soak that breaks off ends, and it with the channel between them.
    caller.unref();
    caller.channel?.unref();
    // Needs root, and the feature.
    await writeFile(`/proc/${caller.pid}/autogroup`, "-5").catch(() => {});
    return new TimedRuns(caller);
  }

  run(container: string, code: string, token: string): Promise<Timed> {
    const id = ++this.#last;
    const asked = Promise.withResolvers<Timed>();
    this.#asked.set(id, asked);
    this.#caller.send({ id, container, code, token } satisfies Ask);
    return asked.promise;
  }

  close(): void {
    this.#caller.disconnect();
  }

  #hear(told: Told): void {
    const asked = this.#asked.get(told.id)!;
    this.#asked.delete(told.id);
    if ("error" in told) return asked.reject(new Error(told.error));
    const { answer, tookMs } = told;
    asked.resolve({ answer: { ...answer, json: (): unknown => JSON.parse(answer.text) }, tookMs });
  }
}
