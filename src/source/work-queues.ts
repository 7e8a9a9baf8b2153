import { FairQueue } from "../fair-queue.ts";
import type { TimeLimit } from "./within.ts";

interface Queue {
  readonly turns: FairQueue;
  readonly holders: Map<string, Share>;
}

/** The work of one holder in one queue. */
interface Share {
  running: number;
  /** The times of work that waits. */
  readonly waiting: Set<Pick<TimeLimit, "pause" | "resume">>;
}

/**
 * Limits the simultaneous work of each name. Other work of the name waits, and holders take turns. The time of waiting work
 * stands still while no work of its holder runs: then the work waits only for other holders.
 */
export class WorkQueues {
  readonly #most: number;
  readonly #queues: Map<string, Queue> = new Map();

  /** @param most the maximum number of simultaneous work of one name. */
  constructor(most: number) {
    this.#most = most;
  }

  /**
   * @param signal work that is aborted before its turn is not started.
   * @throws the reason of the signal, or the error of the work.
   */
  async run<T>(
    name: string,
    holder: string,
    time: Pick<TimeLimit, "pause" | "resume">,
    signal: AbortSignal,
    work: () => Promise<T>,
  ): Promise<T> {
    const queue = this.#queues.get(name) ?? { turns: new FairQueue(this.#most), holders: new Map() };
    this.#queues.set(name, queue);
    const share = queue.holders.get(holder) ?? { running: 0, waiting: new Set() };
    queue.holders.set(holder, share);
    share.waiting.add(time);
    if (share.running === 0) time.pause();
    try {
      return await queue.turns.run(holder, () => {
        share.waiting.delete(time);
        time.resume();
        signal.throwIfAborted();
        return runCounted(share, work);
      });
    } finally {
      if (share.running === 0 && share.waiting.size === 0) queue.holders.delete(holder);
      if (queue.holders.size === 0) this.#queues.delete(name);
    }
  }
}

async function runCounted<T>(share: Share, work: () => Promise<T>): Promise<T> {
  share.running += 1;
  if (share.running === 1) for (const time of share.waiting) time.resume();
  try {
    return await work();
  } finally {
    share.running -= 1;
    if (share.running === 0) for (const time of share.waiting) time.pause();
  }
}
