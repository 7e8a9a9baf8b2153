import { Looker, type TimedUse } from "./looker.ts";
import type { HeldBy } from "./removed.ts";

/** How often the watch asks what processor time each guest has used. */
const ROUND_MS = 100;
/** The least processor time that makes a guest due for a look, which is also the unit in which the kernel reports it. */
const LEAST_USED_MS = 10;
/** A guest is due when it has used so many times what the latest look at it took. */
const USED_A_LOOK = 4;
/** A guest that used less than that is due after so long: what it wrote last may have brought it over its limit. */
const QUIET_MS = 1_000;
/** The looks at quiet guests take at most this part of one processor. */
const QUIET_SHARE = 1 / 10;

export interface WatchedGuest {
  readonly held: HeldBy;
  /** The processor time that it has used since its start, or null when it has ended. */
  readonly usedMs: () => number | null;
  /** Does something while the guest is stopped. */
  readonly whileStopped: <T>(work: () => Promise<T>) => Promise<T>;
  /** Called once, when the guest has used more than it may. */
  readonly exceeded: () => void;
}

interface Watch {
  /** What the guest had used when the latest look began. */
  lookedMs: number;
  /** When that was, on the clock of `performance.now()`. */
  atMs: number;
  /** How much it may use until the next look, and how long that look may be put off. */
  restMs: number;
  quietMs: number;
  /** What it had used at the latest look that came for its quiet. */
  quietUsedMs: number;
  looking: boolean;
}

/**
 * Watches what all guests keep on the disk. The kernel bounds each file by itself, and nothing bounds all of them
 * together: between two looks a guest can go beyond its limit.
 *
 * A guest cannot write without using the processor, so that is what makes it due. The looks at a guest therefore cost a
 * fixed part of what the guest itself uses, and no guest can delay the looks at another, however many files it makes.
 */
export class DiskWatch {
  readonly #limitBytes: number;
  readonly #watched: Map<WatchedGuest, Watch> = new Map();
  readonly #looker: Pick<Looker, "look" | "close">;
  #timer: NodeJS.Timeout | null = null;

  constructor(limitBytes: number, looker: Pick<Looker, "look" | "close"> = new Looker()) {
    this.#limitBytes = limitBytes;
    this.#looker = looker;
  }

  /** @returns what ends it. */
  watch(watched: WatchedGuest): () => void {
    const nothing = { lookedMs: 0, quietUsedMs: 0, looking: false };
    this.#watched.set(watched, { ...nothing, atMs: performance.now(), restMs: LEAST_USED_MS, quietMs: QUIET_MS });
    this.#timer ??= setInterval(() => this.#round(), ROUND_MS).unref();
    return () => this.#forget(watched);
  }

  async close(): Promise<void> {
    clearInterval(this.#timer ?? undefined);
    this.#watched.clear();
    await this.#looker.close();
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
      const usedMs = watch.looking ? null : watched.usedMs();
      if (usedMs === null) continue;
      const isQuiet = performance.now() - watch.atMs >= watch.quietMs;
      if (isQuiet && usedMs !== watch.quietUsedMs) watch.quietUsedMs = usedMs;
      else if (usedMs - watch.lookedMs < watch.restMs) continue;
      void this.#look(watched, watch, usedMs);
    }
  }

  async #look(watched: WatchedGuest, watch: Watch, usedMs: number): Promise<void> {
    watch.looking = true;
    let use = await this.#use(watched);
    let { costMs } = use;
    if (!use.isCertain && this.#watched.has(watched)) {
      use = await watched.whileStopped(() => this.#use(watched));
      costMs += use.costMs;
    }
    watch.looking = false;
    watch.lookedMs = usedMs;
    watch.atMs = performance.now();
    watch.restMs = Math.max(LEAST_USED_MS, costMs * USED_A_LOOK);
    watch.quietMs = Math.max(QUIET_MS, (costMs * this.#watched.size) / QUIET_SHARE);
    // The guest may have ended meanwhile.
    if (use.bytes > this.#limitBytes && this.#forget(watched)) watched.exceeded();
  }

  #use({ held }: WatchedGuest): Promise<TimedUse> {
    return this.#looker.look(held, this.#limitBytes);
  }
}
