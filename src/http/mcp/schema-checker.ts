import { Worker } from "node:worker_threads";

import { FairQueue } from "../../fair-queue.ts";
import { threadProgram } from "../../thread-programs.ts";
import { READY, type SchemaAnswer, type SchemaRequest } from "./schema-messages.ts";

/** The most memory of the thread. A check that needs more costs the thread, and not the service. */
const HEAP_MB = 64;

export type Checked = Exclude<SchemaAnswer, typeof READY>;

/** Counts the time of a check. Both are called in the turn of the check, so that the next check of its family sees the count. */
export interface CheckTurn {
  /** @throws the reason why the check is not made */
  readonly begin: () => void;
  readonly end: (checked: Checked | null) => void;
}

/** Checks inputs in a thread, one at a time. Families take turns. A check that takes too long ends the thread. */
export class SchemaChecker {
  readonly #mostMs: number;
  readonly #queue = new FairQueue(1);
  #thread: Worker | null = null;

  /** @param mostMs the longest check, without the start of the thread */
  constructor(mostMs: number) {
    this.#mostMs = mostMs;
  }

  /**
   * @param holder the token family of the caller
   * @returns null if the check took too long, or ended the thread
   */
  check(holder: string, request: SchemaRequest, turn?: CheckTurn): Promise<Checked | null> {
    return this.#queue.run(holder, async () => {
      turn?.begin();
      const checked = await this.#evaluate(request);
      turn?.end(checked);
      return checked;
    });
  }

  async #evaluate(request: SchemaRequest): Promise<Checked | null> {
    const current = (this.#thread ??= start());
    // The process must not end before the answer, but an idle thread does not keep it alive.
    current.ref();
    const { promise, resolve } = Promise.withResolvers<Checked | null>();
    let timer: NodeJS.Timeout | undefined;
    const lost = (): void => resolve(null);
    const receive = (answer: SchemaAnswer): void => {
      if (answer !== READY) return resolve(answer);
      // The start of the thread takes longer than a check.
      timer = setTimeout(lost, this.#mostMs);
    };
    current.on("message", receive).once("exit", lost);
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
    current.postMessage(request);
    const checked = await promise;
    clearTimeout(timer);
    current.off("message", receive).off("exit", lost).unref();
    if (checked !== null) return checked;
    if (this.#thread === current) this.#thread = null;
    // Until it has ended no other one starts, so that they do not become many.
    await current.terminate();
    return null;
  }
}

function start(): Worker {
  const started = new Worker(threadProgram(import.meta.dirname, "schema-thread"), {
    resourceLimits: { maxOldGenerationSizeMb: HEAP_MB, maxYoungGenerationSizeMb: 8 },
  });
  // An error is followed by the exit.
  return started.on("error", () => {});
}
