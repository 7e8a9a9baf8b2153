import { availableParallelism } from "node:os";

import type { Guest } from "./guest.ts";

export interface SuspectsOptions {
  readonly blockMs: number;
  /** The quota of a guest. */
  readonly cpuCores: number;
}

/** For as long an honest guest may compute in one go and have all of its share of the processor. */
const SLOW_MS = 100;
/** A guest that was kept waiting by the machine for more than so much of the time may be innocent. */
const HELD_UP = 0.5;
/**
 * But not once it has burned so much of the limit, and as much as no honest step takes: on a machine whose processors many
 * share, one that blocks would else wait for its end, and have its share of them, all the longer.
 */
const BURNED_ENOUGH = 1 / 8;
const LONG_STEP_MS = 250;
/** From this part of the limit on it may have its full share again, in its turn: by the limit it can be judged. */
const HURRY = 1 / 4;
/** Of a turn. Who has not burned enough by then, because of threads of its own perhaps, goes as far back in the row. */
const TURN_MS = 500;
/** The least that turns last together before a guest is blocked by less: after that, what most runs do not take in all. */
const LEAST_TURNS_MS = 2_000;
const SHORT_STEP_MS = 50;
/** Between looks at one whose turn it is not, but for the one at its limit. */
const LOOK_MS = 100;
/** Waiting for something, for the disk, or stopped. One that is just ending is none of these: its own cause comes. */
const SLEEPS: ReadonlySet<string> = new Set(["S", "D", "T", "t"]);

/** What the kernel has said of a guest since it owes the answer to a ping. */
interface Suspicion {
  readonly guest: Guest;
  readonly pingedMs: number;
  readonly first: { readonly atMs: number; readonly cpuMs: number };
  lastMs: number;
  looks: number;
  /** Looks at which its main thread slept. */
  asleep: number;
  isAsleep: boolean;
  burnedMs: number;
  /** How long it has had turns. */
  turnMs: number;
}

/**
 * Guests that owe an answer for longer than an honest step mostly takes. They have the processor after all others, until
 * they answer or are found blocked: when their main threads burn it or sleep. One that is runnable and gets no processor
 * is given time, until it has burned, by and by, an eighth of the processor time that the limit is long, or its quota's
 * share of it.
 *
 * What nobody else wants may not be enough for that, so from a quarter of the limit on it has its share back. But of all
 * that owe an answer, only as many at a time as there are processors, the longest silent first: however many block at once,
 * others have no more than those few beside them, and one that only computes for long comes to its end in its turn.
 *
 * Other processes of the host may leave all guests so little that none burns enough before its deadline. So a guest is also
 * blocked when it has burned 50 ms and its turns together have lasted as long as the limit, and for two seconds at least: it
 * had its share for that long, and did not answer.
 */
export class Suspects {
  readonly #suspicions: Map<Guest, Suspicion> = new Map();
  readonly #looking: Set<Guest> = new Set();
  readonly #options: SuspectsOptions;
  readonly #endBlocked: (guest: Guest, title: string) => void;
  readonly #processors: number;
  /** When turns were last given. */
  #turnsMs = 0;

  /** @param endBlocked is called with each that is found blocked, and what it calls itself. */
  constructor(
    options: SuspectsOptions,
    endBlocked: (guest: Guest, title: string) => void,
    processors: number = availableParallelism(),
  ) {
    this.#options = options;
    this.#endBlocked = endBlocked;
    this.#processors = processors;
  }

  /** To be called every few hundredths of a second, for each guest that owes the answer to a ping. */
  watch(guest: Guest, pingedMs: number, nowMs: number): void {
    const { blockMs } = this.#options;
    if (this.#looking.has(guest) || nowMs - pingedMs < Math.min(SLOW_MS, blockMs / 4)) return;
    const known = this.#suspicions.get(guest);
    if (known?.pingedMs === pingedMs && !this.#isDue(known, nowMs)) return;
    void this.#look(guest, pingedMs);
  }

  /** To be called as often, after all have been watched. */
  takeTurns(nowMs: number): void {
    const short: Suspicion[] = [];
    for (const [guest, suspicion] of this.#suspicions) {
      if (guest.ended || guest.heartbeat.pingedMs !== suspicion.pingedMs) this.#suspicions.delete(guest);
      else if (this.#isShort(suspicion, nowMs)) short.push(suspicion);
      else guest.setPriority("low");
    }
    const sinceMs = nowMs - this.#turnsMs;
    this.#turnsMs = nowMs;
    for (const suspicion of short) if (suspicion.guest.priority === "normal") suspicion.turnMs += sinceMs;
    short.sort((one, other) => placeOf(one) - placeOf(other));
    for (const [place, { guest }] of short.entries()) guest.setPriority(place < this.#processors ? "normal" : "low");
  }

  /** A turn ends with the look that finds that it was enough. */
  #isDue({ guest, pingedMs, lastMs }: Suspicion, nowMs: number): boolean {
    const limitMs = pingedMs + this.#options.blockMs;
    return guest.priority === "normal" || nowMs - lastMs >= LOOK_MS || (lastMs < limitMs && nowMs >= limitMs);
  }

  /** Whether it wants the processor, and has had too little of it to be judged at its limit. */
  #isShort({ pingedMs, isAsleep, burnedMs }: Suspicion, nowMs: number): boolean {
    const { blockMs } = this.#options;
    return !isAsleep && burnedMs < enoughMs(blockMs) && nowMs - pingedMs >= blockMs * HURRY;
  }

  async #look(guest: Guest, pingedMs: number): Promise<void> {
    this.#looking.add(guest);
    const status = await guest.process.inspect();
    this.#looking.delete(guest);
    // It may have answered, or ended, while the kernel was asked.
    if (!status || guest.ended || guest.heartbeat.pingedMs !== pingedMs) return;
    const lastMs = performance.now();
    const known = this.#suspicions.get(guest);
    if (known?.pingedMs !== pingedMs) {
      const first = { atMs: lastMs, cpuMs: status.cpuMs };
      this.#suspicions.set(guest, {
        guest,
        pingedMs,
        first,
        lastMs,
        looks: 0,
        asleep: 0,
        isAsleep: false,
        burnedMs: 0,
        turnMs: 0,
      });
      return guest.setPriority("low");
    }
    known.lastMs = lastMs;
    known.looks++;
    known.isAsleep = SLEEPS.has(status.state);
    if (known.isAsleep) known.asleep++;
    known.burnedMs = (status.cpuMs - known.first.cpuMs) / Math.min(1, this.#options.cpuCores);
    if (this.#isBlocked(known)) this.#endBlocked(guest, status.title);
  }

  #isBlocked({ pingedMs, first, lastMs, looks, asleep, burnedMs, turnMs }: Suspicion): boolean {
    const { blockMs } = this.#options;
    if (lastMs - pingedMs < blockMs) return false;
    if (turnMs >= Math.max(blockMs, LEAST_TURNS_MS) && burnedMs >= SHORT_STEP_MS) return true;
    const heldUp = 1 - asleep / looks - burnedMs / (lastMs - first.atMs);
    return heldUp <= HELD_UP || burnedMs >= enoughMs(blockMs);
  }
}

/** In the row of those that wait for a turn. */
function placeOf({ pingedMs, turnMs }: Suspicion): number {
  return pingedMs + turnMs - (turnMs % TURN_MS);
}

/** Of a short limit it is what an innocent one at the edge would burn within it. */
function enoughMs(blockMs: number): number {
  return Math.min(blockMs * (1 - HELD_UP), Math.max(blockMs * BURNED_ENOUGH, LONG_STEP_MS));
}
