import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";

import type { Answer } from "../../test/contract/http.ts";

export interface Timed {
  readonly answer: Answer;
  /** The time from the request to the end of its answer. */
  readonly tookMs: number;
}

/** A message to the process: a run in `container`. */
export interface TimedRequest {
  readonly id: number;
  readonly container: string;
  readonly code: string;
  readonly token: string;
}

/** A message from the process, without the function `json` of an answer, because functions cannot be sent. */
export type TimedReply = { readonly id: number } & (
  | { readonly answer: Omit<Answer, "json">; readonly tookMs: number }
  | { readonly error: string }
);

/**
 * Measures the times of runs. A separate process sends them and does nothing else. This process makes the load and reads
 * megabytes of answers, so an answer would wait here, and the measured time would be too long.
 *
 * Real clients are on other machines, and do not wait for a processor of the service's machine. So the separate process
 * has a higher priority than all guests. Its priority is lower than the service's, which must not wait for its client
 * (sched(7), the autogroup feature). The process that makes the load has the normal priority.
 */
export class TimedRuns {
  readonly #caller: ChildProcess;
  readonly #pending: Map<number, PromiseWithResolvers<Timed>> = new Map();
  #lastId = 0;

  private constructor(caller: ChildProcess) {
    this.#caller = caller;
    caller.on("message", (reply: TimedReply) => this.#receive(reply));
    caller.once("exit", () => {
      for (const { reject } of this.#pending.values()) reject(new Error("the process that measures times has ended"));
    });
  }

  static async open(port: number): Promise<TimedRuns> {
    // A separate session has a separate autogroup.
    const own = { detached: true, serialization: "advanced" } as const;
    const caller = fork(new URL("timed-runs-process.ts", import.meta.url), [String(port)], own);
    await once(caller, "spawn");
    // If the soak fails, this process ends, and the other process ends with the channel.
    caller.unref();
    caller.channel?.unref();
    // Requires root and the autogroup feature.
    await writeFile(`/proc/${caller.pid}/autogroup`, "-5").catch(() => {});
    return new TimedRuns(caller);
  }

  run(container: string, code: string, token: string): Promise<Timed> {
    const id = ++this.#lastId;
    const pending = Promise.withResolvers<Timed>();
    this.#pending.set(id, pending);
    this.#caller.send({ id, container, code, token } satisfies TimedRequest);
    return pending.promise;
  }

  close(): void {
    this.#caller.disconnect();
  }

  #receive(reply: TimedReply): void {
    const pending = this.#pending.get(reply.id)!;
    this.#pending.delete(reply.id);
    if ("error" in reply) return pending.reject(new Error(reply.error));
    const { answer, tookMs } = reply;
    pending.resolve({ answer: { ...answer, json: (): unknown => JSON.parse(answer.text) }, tookMs });
  }
}
