import { randomInt } from "node:crypto";

/** The delay after which an answer is overdue. An honest guest that is not busy answers within a millisecond. */
const OVERDUE_MS = 250;

const IDLE_PING_MS = 1_000;
/** The longest time between two pings of a guest without runs, however many guests there are. */
const LONGEST_IDLE_PING_MS = 5_000;
/** Each ping wakes a process. At this time for each guest, all guests without runs cost at most 100 pings a second, up to 500 guests. */
const IDLE_PING_MS_PER_GUEST = 10;
const BUSY_PING_MS = 100;
/** The wait before the next ping if the guest received a run after the last ping. The block limit counts from a ping. */
const NEW_PING_MS = 50;

/** The pings of a guest, one at a time, and their answers. Times are those of `performance.now()`. */
export class Heartbeat {
  /** When the last ping was sent if the guest still owes its answer, otherwise null. */
  pingedMs: number | null = null;
  lastPingMs = 0;
  /** The answer must contain it, so that a guest cannot answer a ping that it has not read. */
  #nonce = 0;
  #settled: PromiseWithResolvers<void> | null = null;

  /** @returns the number that the ping carries. */
  ping(nowMs: number): number {
    this.pingedMs = nowMs;
    this.lastPingMs = nowMs;
    this.#nonce = randomInt(2 ** 32);
    return this.#nonce;
  }

  /** @returns whether the nonce is the one of the ping that the guest owes an answer to. */
  accept(nonce: number): boolean {
    if (this.pingedMs === null || nonce !== this.#nonce) return false;
    this.end();
    return true;
  }

  /** Whether the answer is so late that new runs should wait: the watchdog may be about to end the guest. */
  isOverdue(nowMs: number): boolean {
    return this.pingedMs !== null && nowMs - this.pingedMs >= OVERDUE_MS;
  }

  /** Resolves when the guest owes no answer: the answer has arrived, or the guest has ended. */
  settled(): Promise<void> {
    if (this.pingedMs === null) return Promise.resolve();
    this.#settled ??= Promise.withResolvers();
    return this.#settled.promise;
  }

  /** Cancels the ping: the guest owes no answer from now on. */
  end(): void {
    this.pingedMs = null;
    this.#settled?.resolve();
    this.#settled = null;
  }
}

/** What decides when a guest receives its next ping. */
export interface PingedGuest {
  readonly inFlight: { readonly size: number };
  /** When the guest received its last run. */
  readonly ranMs: number;
  readonly heartbeat: { readonly lastPingMs: number };
}

/** Returns the time between two pings of a guest without runs, in milliseconds. @param guests the number of all guests */
export function idlePingMs(guests: number): number {
  return Math.min(Math.max(IDLE_PING_MS, guests * IDLE_PING_MS_PER_GUEST), LONGEST_IDLE_PING_MS);
}

/** Whether a guest that owes no answer should receive the next ping. @param idleMs the result of `idlePingMs` */
export function isPingDue({ inFlight, ranMs, heartbeat }: PingedGuest, nowMs: number, idleMs: number): boolean {
  const { lastPingMs } = heartbeat;
  const busyMs = ranMs > lastPingMs ? NEW_PING_MS : BUSY_PING_MS;
  return nowMs - lastPingMs >= (inFlight.size === 0 ? idleMs : busyMs);
}
