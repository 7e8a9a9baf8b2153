import type { GuestStatus } from "../sandbox/sandbox.ts";
import type { Guest } from "./guest.ts";

/** What was seen of a guest. */
interface Look {
  /** When the last one was. */
  atMs: number;
  /** What the guest had used by then; null where that is too long ago. */
  usedMs: number | null;
  /** How many runs it had been given by then. */
  runs: number;
  everyMs: number;
  looking: boolean;
  /** Whether it had next to nothing to do. */
  calm: boolean;
  /** In a row: looks that found it running or waiting for its turn, and looks that found it neither so nor using much. */
  runnable: number;
  resting: number;
  busy: boolean;
}

/** Less than half of it honest ones use in one go, too. */
const LOOK_MS = 150;
/** Between looks at one that waits and waits, for the network perhaps. */
const MOST_LOOK_MS = 500;
/** Of one processor, or of the quota of a guest where that is less. */
const BUSY_SHARE = 1 / 2;
const CALM_SHARE = 1 / 8;
/** On a full machine nobody gets half a processor: whoever wants it so many times in a row is busy, too. */
const RUNNABLE_LOOKS = 5;
const RESTING_LOOKS = 2;

/**
 * Tells guests that go on using the processor from those that need it now and then, by what the kernel says of them: they
 * need not answer slowly for that. It looks at those that have runs, and then until one is found calm: what burns behind an
 * answer is seen as well.
 *
 * What a guest uses says little where it gets little, so it counts besides whether its main thread wants the processor.
 * Other threads that burn on a full machine are told by what they use alone, and so perhaps not.
 */
export class Burners {
  readonly #looks: WeakMap<Guest, Look> = new WeakMap();
  readonly #cores: number;
  readonly #lookMs: number;

  /** @param cpuCores the quota of a guest. */
  constructor(cpuCores: number) {
    this.#cores = Math.min(1, cpuCores);
    // The kernel counts in hundredths of a second: of a small quota they are a longer part.
    this.#lookMs = LOOK_MS / this.#cores;
  }

  isBusy(guest: Guest): boolean {
    return this.#looks.get(guest)?.busy ?? false;
  }

  /** To be called every few hundredths of a second, for each guest. */
  watch(guest: Guest, nowMs: number): void {
    const known = this.#looks.get(guest);
    const isIdle = guest.flights.size === 0 && guest.runs === (known?.runs ?? 0);
    if (isIdle && (!known || known.calm)) return;
    const look = known ?? this.#begin(guest, nowMs);
    // It begins anew: what it did before would make little of what it does now.
    if (look.calm && nowMs - look.atMs > 2 * look.everyMs) look.usedMs = null;
    if (look.looking || (look.usedMs !== null && nowMs - look.atMs < look.everyMs)) return;
    void this.#look(guest, look);
  }

  #begin(guest: Guest, nowMs: number): Look {
    const nothing = { usedMs: null, runs: 0, looking: false, calm: false, runnable: 0, resting: 0, busy: false };
    const look = { atMs: nowMs, everyMs: this.#lookMs, ...nothing };
    this.#looks.set(guest, look);
    return look;
  }

  async #look(guest: Guest, look: Look): Promise<void> {
    look.looking = true;
    const status = await guest.process.inspect();
    look.looking = false;
    if (!status || guest.ended) return;
    const { atMs, usedMs } = look;
    look.atMs = performance.now();
    look.usedMs = status.processCpuMs;
    look.runs = guest.runs;
    look.calm = false;
    if (usedMs === null) look.everyMs = this.#lookMs;
    // One that comes after all others shows nothing by what it uses.
    else if (guest.priority !== "low") {
      this.#judge(look, status, (status.processCpuMs - usedMs) / (look.atMs - atMs) / this.#cores);
    }
  }

  /** @param share of the most that it may use, since the look before. */
  #judge(look: Look, { state }: GuestStatus, share: number): void {
    const wants = state === "R";
    look.calm = !wants && share < CALM_SHARE;
    look.runnable = wants ? look.runnable + 1 : 0;
    look.resting = wants || share >= BUSY_SHARE ? 0 : look.resting + 1;
    if (share >= BUSY_SHARE || look.runnable >= RUNNABLE_LOOKS) look.busy = true;
    else if (look.resting >= RESTING_LOOKS) look.busy = false;
    if (look.busy) look.calm = false;
    look.everyMs = look.calm ? Math.min(2 * look.everyMs, Math.max(MOST_LOOK_MS, this.#lookMs)) : this.#lookMs;
  }
}
