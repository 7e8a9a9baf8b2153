/** The parts of the time limit after each of which the node looks for replies. */
const PARTS = 10;
/** The maximum wait, as a multiple of the time limit, however little time the node had to read. */
const MAX_LIMITS = 3;
/** The parts for which Redis must have been silent, however long the wait was: the node has read between each two. */
const MIN_PARTS = 2;

/** Redis answers, but did not answer this command in time. */
export class RedisBusy extends Error {}

interface Waiting {
  readonly sentMs: number;
  readonly reject: (reason: Error) => void;
}

/**
 * Limits the time for replies of Redis.
 *
 * Redis is lost if it answers nothing for the time limit, of which only the time counts in which the node was able to read. A
 * caller can delay the node's event loop, and can make a long line of commands before Redis. Neither is a loss of Redis:
 * an operator may have allowed runs without counting while Redis is lost, and the caller would pass its limits.
 */
export class Replies {
  readonly #limitMs: number;
  /** The commands without a reply, with the oldest first. */
  readonly #waiting = new Set<Waiting>();
  /** The parts that passed without a reply. The first one may be short, so it does not count. */
  #silentParts = -1;
  /** The time of the last reply, or of the first command after a time without commands. */
  #heardMs = 0;
  #isTicking = false;

  constructor(limitMs: number) {
    this.#limitMs = limitMs;
  }

  /**
   * Returns the reply of a command that was sent now.
   *
   * @throws {RedisBusy} if Redis answered other commands only
   * @throws {Error} if Redis answered nothing, or the error of the reply
   */
  wait<T>(reply: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const waiting = { sentMs: performance.now(), reject };
      if (this.#waiting.size === 0) this.#restart(waiting.sentMs);
      this.#waiting.add(waiting);
      const settle = (): void => {
        this.#waiting.delete(waiting);
        this.#restart(performance.now());
      };
      reply.finally(settle).then(resolve, reject);
      this.#tick();
    });
  }

  #restart(heardMs: number): void {
    this.#silentParts = -1;
    this.#heardMs = heardMs;
  }

  #tick(): void {
    if (this.#isTicking || this.#waiting.size === 0) return;
    this.#isTicking = true;
    // The event loop reads sockets between the timer and the immediate. So each part ends after a read, and counts with its
    // nominal length, however late it ends.
    setTimeout(() => {
      setImmediate(() => {
        this.#isTicking = false;
        this.#check();
        this.#tick();
      });
    }, this.#limitMs / PARTS);
  }

  #check(): void {
    const nowMs = performance.now();
    const longestMs = MAX_LIMITS * this.#limitMs;
    this.#silentParts += 1;
    const isOverdue = nowMs - this.#heardMs >= longestMs && this.#silentParts >= MIN_PARTS;
    if (this.#silentParts >= PARTS || isOverdue) {
      this.#reject(Infinity, new Error(`it did not answer in ${this.#limitMs} ms`));
    } else {
      // A command that was sent after the last reply waits for the decision whether Redis is lost.
      const sentMs = Math.min(nowMs - longestMs, this.#heardMs);
      this.#reject(sentMs, new RedisBusy(`it answered only other commands for ${longestMs} ms`));
    }
  }

  /** Rejects the commands that were sent before a time. */
  #reject(sentMs: number, reason: Error): void {
    for (const waiting of this.#waiting) {
      if (waiting.sentMs >= sentMs) break;
      this.#waiting.delete(waiting);
      waiting.reject(reason);
    }
  }
}
