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
 *
 * So only a reply shows that Redis is busy. Until the next reply, it is open whether Redis is busy or lost, and an overdue
 * command keeps waiting: a run must not be refused because Redis answered before it was lost.
 */
export class Replies {
  readonly #limitMs: number;
  readonly #isRefusal: (error: unknown) => boolean;
  /** The commands without a reply, with the oldest first. */
  readonly #waiting = new Set<Waiting>();
  /** The parts that passed without a reply. The first one may be short, so it does not count. */
  #silentParts = -1;
  /** The time of the last reply, or of the first command after a time without commands. */
  #heardMs = 0;
  #isTicking = false;
  #hasHeard = false;

  /** @param isRefusal whether an error is a reply of Redis; other errors are of the connection */
  constructor(limitMs: number, isRefusal: (error: unknown) => boolean) {
    this.#limitMs = limitMs;
    this.#isRefusal = isRefusal;
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
      const settled = (isReply: boolean): void => {
        this.#waiting.delete(waiting);
        if (isReply) this.#heard();
      };
      reply
        .then(
          () => settled(true),
          (error: unknown) => settled(this.#isRefusal(error)),
        )
        .then(() => reply)
        .then(resolve, reject);
      this.#tick();
    });
  }

  #restart(heardMs: number): void {
    this.#silentParts = -1;
    this.#heardMs = heardMs;
  }

  #heard(): void {
    this.#restart(performance.now());
    if (this.#hasHeard || this.#waiting.size === 0) return;
    this.#hasHeard = true;
    // The node has then read all replies that arrived together with this one.
    setImmediate(() => {
      this.#hasHeard = false;
      const longestMs = MAX_LIMITS * this.#limitMs;
      // Not the time now: the last reply shows nothing about the time after it.
      this.#reject(this.#heardMs - longestMs, new RedisBusy(`it answered only other commands for ${longestMs} ms`));
    });
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
    this.#silentParts += 1;
    const isOverdue = performance.now() - this.#heardMs >= MAX_LIMITS * this.#limitMs && this.#silentParts >= MIN_PARTS;
    if (this.#silentParts < PARTS && !isOverdue) return;
    this.#reject(Infinity, new Error(`it did not answer in ${this.#limitMs} ms`));
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
