import type { Guest } from "./guest.ts";

interface Look {
  /** When it was, or is to be. */
  atMs: number;
  /** What the guest had used by then; null before the first. */
  usedMs: number | null;
  everyMs: number;
  looking: boolean;
  /** Until then it counts as busy. */
  busyUntilMs: number;
}

/** So long a guest has to use the processor: less than that honest ones take at once, too. */
const LOOK_MS = 150;
/** Between looks at one that waits and waits, for the network perhaps. */
const MOST_LOOK_MS = 2_000;
/** Of one processor, or of the quota of a guest where that is less. */
const BUSY_SHARE = 1 / 2;
/** Then it has the chance to show that it needs less: as long as it is starved, what it uses says nothing. */
const HELD_MS = 1_000;

/**
 * Tells guests that go on using most of a processor from those that need it now and then, by what the kernel says: they
 * need not answer slowly for that. Only those are looked at that have a run; what one does behind its answers is seen when
 * it began before them.
 */
export class Burners {
  readonly #looks: WeakMap<Guest, Look> = new WeakMap();
  readonly #burnsMs: (elapsedMs: number) => number;

  /** @param cpuCores the quota of a guest. */
  constructor(cpuCores: number) {
    this.#burnsMs = (elapsedMs) => elapsedMs * BUSY_SHARE * Math.min(1, cpuCores);
  }

  isBusy(guest: Guest, nowMs: number): boolean {
    return (this.#looks.get(guest)?.busyUntilMs ?? 0) > nowMs;
  }

  /** To be called every few hundredths of a second, for each guest. */
  watch(guest: Guest, nowMs: number): void {
    const look = this.#looks.get(guest);
    if (!look) {
      if (guest.flights.size === 0) return;
      // One that has no run any more by the next time was quick.
      this.#looks.set(guest, { atMs: nowMs, usedMs: null, everyMs: LOOK_MS, looking: false, busyUntilMs: 0 });
      return;
    }
    if (look.looking || look.busyUntilMs > nowMs) return;
    if (look.usedMs === null && guest.flights.size === 0) this.#looks.delete(guest);
    else if (look.usedMs === null || nowMs - look.atMs >= look.everyMs) void this.#look(guest, look);
  }

  async #look(guest: Guest, look: Look): Promise<void> {
    look.looking = true;
    const status = await guest.process.inspect();
    look.looking = false;
    if (!status || guest.ended) return;
    const nowMs = performance.now();
    const { atMs, usedMs } = look;
    look.atMs = nowMs;
    look.usedMs = status.processCpuMs;
    if (usedMs === null) return;
    if (status.processCpuMs - usedMs >= this.#burnsMs(nowMs - atMs)) {
      look.busyUntilMs = nowMs + HELD_MS;
      look.usedMs = null;
      look.everyMs = LOOK_MS;
    } else if (guest.flights.size === 0) this.#looks.delete(guest);
    else look.everyMs = Math.min(2 * look.everyMs, MOST_LOOK_MS);
  }
}
