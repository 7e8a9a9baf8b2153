import type { Guest } from "../../containers/guest/guest.ts";
import type { Usage, UsageCell } from "../../records/usage/usage.ts";
import { Execution } from "./execution.ts";
import type { RunTrace } from "./run-trace.ts";

type MeasuredGuest = Pick<Guest, "listeners" | "process" | "ended">;

export interface CpuSharesOptions {
  readonly guests: Iterable<MeasuredGuest>;
  readonly usage: Pick<Usage, "addCpu">;
  readonly cellOf: (trace: RunTrace) => UsageCell | null;
}

/** The interval of the measurements. */
const TICK_MS = 2_000;
/** The most guests that are measured at once. A measurement takes the service some tenths of a millisecond. */
const MAX_MEASURED = 200;

/** What the runs of a guest have taken since its last measurement. */
interface Share {
  /** On the clock of `performance.now()`. */
  sinceMs: number;
  /** What the guest had used at its last measurement. */
  cpuMs: number;
  /** The time in flight of runs that have ended, by what they count for. */
  readonly ended: Map<UsageCell, number>;
}

/**
 * Shares out the processor time of each guest to its runs, by their time in flight. The kernel counts processes and not runs,
 * so the share of a run is an estimate. The sum of the shares is the time of the guest until its last measurement.
 */
export class CpuShares {
  readonly #with: CpuSharesOptions;
  readonly #shares = new Map<MeasuredGuest, Share>();
  readonly #timer: NodeJS.Timeout;

  constructor(options: CpuSharesOptions) {
    this.#with = options;
    this.#timer = setInterval(() => void this.measure(), TICK_MS).unref();
  }

  /** Called when a guest is done with a run. */
  ended(guest: MeasuredGuest, trace: RunTrace, cell: UsageCell): void {
    const share = this.#shareOf(guest);
    const tookMs = trace.endedMs - Math.max(trace.sentMs, share.sinceMs);
    share.ended.set(cell, (share.ended.get(cell) ?? 0) + Math.max(0, tookMs));
  }

  /** Measures the guests that have had runs since their last measurement. */
  async measure(): Promise<void> {
    const nowMs = performance.now();
    const due: { guest: MeasuredGuest; weights: Map<UsageCell, number> }[] = [];
    for (const guest of this.#with.guests) {
      const weights = this.#weightsOf(guest, nowMs);
      if (weights.size > 0) due.push({ guest, weights });
      if (due.length === MAX_MEASURED) break;
    }
    await Promise.all(due.map(({ guest, weights }) => this.#shareOut(guest, weights, nowMs)));
    for (const [guest] of this.#shares) if (guest.ended) this.#shares.delete(guest);
  }

  /** Measures for the last time. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.measure();
  }

  #weightsOf(guest: MeasuredGuest, nowMs: number): Map<UsageCell, number> {
    const known = this.#shares.get(guest);
    const weights = new Map(known?.ended);
    for (const listener of guest.listeners()) {
      const cell = listener instanceof Execution ? this.#with.cellOf(listener.trace) : null;
      if (!cell) continue;
      const { trace } = listener as Execution;
      const tookMs = nowMs - Math.max(trace.sentMs, this.#shareOf(guest).sinceMs);
      weights.set(cell, (weights.get(cell) ?? 0) + Math.max(0, tookMs));
    }
    return weights;
  }

  async #shareOut(guest: MeasuredGuest, weights: ReadonlyMap<UsageCell, number>, nowMs: number): Promise<void> {
    const use = await guest.process.measure();
    const share = this.#shareOf(guest);
    if (!use) return;
    const spentMs = Math.max(0, use.cpuMs - share.cpuMs);
    const total = weights.values().reduce((sum, each) => sum + each, 0);
    for (const [cell, weight] of weights) {
      // Runs that took no time share equally.
      const part = total > 0 ? weight / total : 1 / weights.size;
      this.#with.usage.addCpu(cell, spentMs * part);
    }
    share.cpuMs = use.cpuMs;
    share.sinceMs = nowMs;
    share.ended.clear();
  }

  #shareOf(guest: MeasuredGuest): Share {
    let share = this.#shares.get(guest);
    if (!share) this.#shares.set(guest, (share = { sinceMs: 0, cpuMs: 0, ended: new Map() }));
    return share;
  }
}
