import { Problem } from "../errors.ts";
import type { GuestStatus, Held } from "../sandbox/sandbox.ts";
import { formatDuration, formatSize } from "../units.ts";
import { MEMORY_HINT } from "./guest-causes.ts";
import type { Guest } from "./guest.ts";

/** What a guest may hold, and who sees to it. */
export interface Holding {
  readonly memoryBytes: number;
  readonly threads: number;
  /** The quota of a guest, which may be less than its one main thread could use. */
  readonly cpuCores: number;
  /** By control groups; what is not is looked at. */
  readonly held: Held;
  /**
   * Where no control group gives a guest its share of the processors, it may use more for so long, as a quota would not
   * let it.
   */
  readonly cpuWindowMs?: number;
}

interface Weight {
  firstBytes: number;
  atMs: number;
  runs: number;
  /** Since when the processors are counted that the guest uses, and what it had used by then. */
  cpu: { sinceMs: number; usedMs: number } | null;
}

const WEIGH_MS = 5_000;
/** Where no control group holds it, also what a guest does after its answers has to be seen. */
const IDLE_WEIGH_MS = 1_000;
/** Memory grows sooner: page tables, which no limit of the process bounds, by gigabytes a second. */
const IDLE_MEMORY_MS = 250;
/** Guests that are looked at in one tick: a look takes about 90 µs of the service's one thread. */
const LOOKS = 50;
const CPU_WINDOW_MS = 10_000;
/** A guest of one busy thread also collects garbage and compiles beside it. */
const CPU_SLACK = 1.5;

/** Weighs guests now and then: what they have grown to, and what they use where no control group holds it. */
export class Scales {
  readonly #options: Holding;
  readonly #weights: WeakMap<Guest, Weight> = new WeakMap();
  /** Guests that were looked at in this tick. */
  #looks = 0;
  /** Between two looks at a guest: long enough that each guest has its look before the first has another. */
  #leastMs = 0;

  constructor(options: Holding) {
    this.#options = options;
  }

  /**
   * Must be called before the guests of a tick are weighed.
   *
   * @param everyMs from one tick to the next.
   */
  tick(guests: number, everyMs: number): void {
    this.#looks = 0;
    this.#leastMs = guests <= LOOKS ? 0 : Math.ceil(guests / LOOKS) * everyMs;
  }

  /** Replaces a guest that has grown past half its limit, and ends one that the kernel does not hold. */
  async weigh(guest: Guest, nowMs: number): Promise<void> {
    const last = this.#weights.get(guest);
    if (last && !this.#isDue(guest, last, nowMs)) return;
    if (this.#looks === LOOKS) return;
    this.#looks++;
    const weight = last ?? { firstBytes: 0, atMs: nowMs, runs: 0, cpu: null };
    this.#weights.set(guest, weight);
    weight.atMs = nowMs;
    weight.runs = guest.runs;
    const status = await guest.process.inspect();
    if (!status || guest.ended) return;
    const { held } = this.#options;
    if (!held.memory) this.#holdMemory(guest, status);
    if (!held.cpu) this.#holdCpu(guest, this.#coresUsed(weight, status));
    // A guest that is being started grows to what it is by itself.
    if (!guest.warm) return;
    weight.firstBytes ||= status.memoryBytes;
    if (status.memoryBytes - weight.firstBytes > this.#options.memoryBytes / 2) guest.retire();
  }

  #isDue(guest: Guest, last: Weight, nowMs: number): boolean {
    const sinceMs = nowMs - last.atMs;
    const { held } = this.#options;
    if (held.memory && held.cpu) return last.runs !== guest.runs && sinceMs >= WEIGH_MS;
    if (held.memory) return sinceMs >= IDLE_WEIGH_MS;
    return sinceMs >= (guest.flights.size > 0 ? this.#leastMs : Math.max(IDLE_MEMORY_MS, this.#leastMs));
  }

  /** Of the window that has just ended; 0 while one lasts. */
  #coresUsed(weight: Weight, { processCpuMs }: GuestStatus): number {
    const nowMs = performance.now();
    const { cpu } = weight;
    if (cpu && nowMs - cpu.sinceMs < (this.#options.cpuWindowMs ?? CPU_WINDOW_MS)) return 0;
    weight.cpu = { sinceMs: nowMs, usedMs: processCpuMs };
    return cpu ? (processCpuMs - cpu.usedMs) / (nowMs - cpu.sinceMs) : 0;
  }

  #holdMemory(guest: Guest, status: GuestStatus): void {
    const { memoryBytes, threads } = this.#options;
    if (status.memoryBytes > memoryBytes) {
      end(
        guest,
        "memory",
        new Problem("task_memory", `the task needs more than the ${formatSize(memoryBytes)} of its container`, {
          hint: MEMORY_HINT,
        }),
      );
    } else if (status.threads > threads) {
      const started = `the task started more than the ${threads} threads of its container`;
      end(guest, "threads", new Problem("task_exited", started));
    }
  }

  #holdCpu(guest: Guest, coresUsed: number): void {
    const { cpuCores, cpuWindowMs = CPU_WINDOW_MS } = this.#options;
    if (guest.ended || coresUsed <= cpuCores * CPU_SLACK) return;
    const told = `more than ${cpuCores} processors for ${formatDuration(cpuWindowMs)}`;
    end(guest, "processors", new Problem("task_exited", `the task used ${told}, which is what its container has`));
  }
}

function end(guest: Guest, what: string, cause: Problem): void {
  const culprit = guest.flights.only;
  const restarted = new Problem("container_restarted", `the container used more than its ${what}`);
  guest.crash(restarted, culprit === null ? undefined : { id: culprit, cause });
}
