import { DiskChecker, type TimedUse } from "./disk-checker.ts";
import type { GuestDisk } from "./removed.ts";

/** The interval, in milliseconds, at which the watch reads the processor time of each guest. */
const ROUND_MS = 100;
/** The least processor time that makes a check of a guest due: the unit in which the kernel reports processor time. */
const LEAST_USED_MS = 10;
/** A check is due when the guest has used this many times the processor time of its latest check. */
const USED_PER_CHECK = 4;
/** After this time a check of a guest that used less is due, because its last write may have exceeded the limit. */
const QUIET_MS = 1_000;
/** The maximum share of one processor for the checks of quiet guests. */
const QUIET_SHARE = 1 / 10;

export interface WatchedGuest {
  readonly disk: GuestDisk;
  /** Returns the processor time that the guest has used since its start, or null if it has ended. */
  readonly usedMs: () => number | null;
  /** Does work while the guest is stopped. */
  readonly whileStopped: <T>(work: () => Promise<T>) => Promise<T>;
  /** Called once, when the guest has exceeded its limit. */
  readonly onExceeded: () => void;
}

interface Watch {
  /** The processor time of the guest when the latest check began. */
  checkedUsedMs: number;
  /** The time of the latest check, on the clock of `performance.now()`. */
  checkedAtMs: number;
  /** The processor time that the guest may use before the next check. */
  allowanceMs: number;
  /** The longest time until the next check. */
  quietMs: number;
  /** The processor time of the guest at its latest check as a quiet guest. */
  quietUsedMs: number;
  isChecking: boolean;
}

/**
 * Watches the disk use of all guests. The kernel limits each file, but not all files of a guest together: between two
 * checks a guest can exceed its limit.
 *
 * A guest cannot write without using the processor, so processor time makes its checks due. The checks of a guest
 * therefore cost a fixed part of what the guest itself uses, and a guest with many files cannot delay the checks of others.
 */
export class DiskWatch {
  readonly #limitBytes: number;
  readonly #watched: Map<WatchedGuest, Watch> = new Map();
  readonly #checker: Pick<DiskChecker, "check" | "close">;
  #timer: NodeJS.Timeout | null = null;

  constructor(limitBytes: number, checker: Pick<DiskChecker, "check" | "close"> = new DiskChecker()) {
    this.#limitBytes = limitBytes;
    this.#checker = checker;
  }

  /** Starts to watch a guest. @returns a function that stops watching it. */
  watch(watched: WatchedGuest): () => void {
    this.#watched.set(watched, {
      checkedUsedMs: 0,
      checkedAtMs: performance.now(),
      allowanceMs: LEAST_USED_MS,
      quietMs: QUIET_MS,
      quietUsedMs: 0,
      isChecking: false,
    });
    this.#timer ??= setInterval(() => this.#round(), ROUND_MS).unref();
    return () => this.#forget(watched);
  }

  async close(): Promise<void> {
    clearInterval(this.#timer ?? undefined);
    this.#watched.clear();
    await this.#checker.close();
  }

  #forget(watched: WatchedGuest): boolean {
    const wasWatched = this.#watched.delete(watched);
    if (this.#watched.size === 0 && this.#timer) {
      clearInterval(this.#timer);
      this.#timer = null;
    }
    return wasWatched;
  }

  #round(): void {
    for (const [watched, watch] of this.#watched) {
      const usedMs = watch.isChecking ? null : watched.usedMs();
      if (usedMs === null) continue;
      const isQuiet = performance.now() - watch.checkedAtMs >= watch.quietMs;
      if (isQuiet && usedMs !== watch.quietUsedMs) watch.quietUsedMs = usedMs;
      else if (usedMs - watch.checkedUsedMs < watch.allowanceMs) continue;
      void this.#check(watched, watch, usedMs);
    }
  }

  async #check(watched: WatchedGuest, watch: Watch, usedMs: number): Promise<void> {
    watch.isChecking = true;
    let use = await this.#measure(watched);
    let { costMs } = use;
    if (!use.isCertain && this.#watched.has(watched)) {
      use = await watched.whileStopped(() => this.#measure(watched));
      costMs += use.costMs;
    }
    watch.isChecking = false;
    watch.checkedUsedMs = usedMs;
    watch.checkedAtMs = performance.now();
    watch.allowanceMs = Math.max(LEAST_USED_MS, costMs * USED_PER_CHECK);
    watch.quietMs = Math.max(QUIET_MS, (costMs * this.#watched.size) / QUIET_SHARE);
    // The guest may have ended during the check.
    if (use.bytes > this.#limitBytes && this.#forget(watched)) watched.onExceeded();
  }

  #measure({ disk }: WatchedGuest): Promise<TimedUse> {
    return this.#checker.check(disk, this.#limitBytes);
  }
}
