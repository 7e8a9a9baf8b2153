import type { Guest } from "../../containers/guest/guest.ts";
import type { Usage, UsageCell } from "../../records/usage/usage.ts";
import type { RunMetrics } from "../../telemetry/metrics/run-metrics.ts";
import { Execution } from "./execution.ts";
import type { RunTrace } from "./run-trace.ts";

type MeasuredGuest = Pick<Guest, "listeners" | "process" | "ended">;

export interface CpuSharesOptions {
  readonly guests: Iterable<MeasuredGuest>;
  readonly usage: Pick<Usage, "addCpu">;
  readonly metrics: Pick<RunMetrics, "used">;
  /** The processors that a guest may use. */
  readonly cores: number;
  readonly cellOf: (trace: RunTrace) => UsageCell | null;
}

/** The interval of the measurements. */
const TICK_MS = 2_000;
/** The most guests that are measured at once. A measurement takes the service some tenths of a millisecond. */
const MAX_MEASURED = 200;

/** The ended runs of a guest that count for the same. */
interface EndedRuns {
  readonly container: string;
  runs: number;
  /** Their time in flight since the last measurement. */
  tookMs: number;
  /** What earlier measurements have given them. */
  cpuMs: number;
}

/** What the runs of a guest have taken since its last measurement. */
interface Share {
  /** On the clock of `performance.now()`. */
  sinceMs: number;
  /** What the guest had used at its last measurement. */
  cpuMs: number;
  /** The runs that have ended, by what they count for. */
  ended: Map<UsageCell, EndedRuns>;
}

/** What a measurement shares out. */
interface Due {
  readonly guest: MeasuredGuest;
  readonly ended: ReadonlyMap<UsageCell, EndedRuns>;
  readonly inFlight: readonly { readonly trace: RunTrace; readonly cell: UsageCell; readonly tookMs: number }[];
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
    const { ended, sinceMs } = this.#shareOf(guest);
    let runs = ended.get(cell);
    if (!runs) ended.set(cell, (runs = { container: trace.container, runs: 0, tookMs: 0, cpuMs: 0 }));
    runs.runs++;
    runs.tookMs += Math.max(0, trace.endedMs - Math.max(trace.sentMs, sinceMs));
    runs.cpuMs += trace.sharedCpuMs;
  }

  /** Measures the guests that have had runs since their last measurement. */
  async measure(): Promise<void> {
    const nowMs = performance.now();
    const all: Due[] = [];
    for (const guest of this.#with.guests) {
      const due = this.#dueOf(guest, nowMs);
      if (due) all.push(due);
      if (all.length === MAX_MEASURED) break;
    }
    await Promise.all(all.map((due) => this.#shareOut(due)));
    for (const [guest] of this.#shares) if (guest.ended) this.#shares.delete(guest);
  }

  /** Measures for the last time. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.measure();
  }

  /** Takes what a guest has had until now. Runs that end during the measurement belong to the next one. */
  #dueOf(guest: MeasuredGuest, nowMs: number): Due | null {
    const share = this.#shares.get(guest);
    const sinceMs = share?.sinceMs ?? 0;
    const inFlight: Due["inFlight"][number][] = [];
    for (const listener of guest.listeners()) {
      if (!(listener instanceof Execution)) continue;
      const { trace } = listener;
      const cell = this.#with.cellOf(trace);
      if (cell) inFlight.push({ trace, cell, tookMs: Math.max(0, nowMs - Math.max(trace.sentMs, sinceMs)) });
    }
    const ended = share?.ended ?? new Map<UsageCell, EndedRuns>();
    if (ended.size === 0 && inFlight.length === 0) return null;
    const taken = this.#shareOf(guest);
    taken.ended = new Map();
    taken.sinceMs = nowMs;
    return { guest, ended, inFlight };
  }

  async #shareOut({ guest, ended, inFlight }: Due): Promise<void> {
    const { usage, metrics, cores } = this.#with;
    const use = await guest.process.measure();
    // The guest has ended, so its time is unknown.
    if (!use) return;
    const share = this.#shareOf(guest);
    const spentMs = Math.max(0, use.cpuMs - share.cpuMs);
    share.cpuMs = use.cpuMs;
    let [tookMs, count] = [0, inFlight.length];
    for (const run of inFlight) tookMs += run.tookMs;
    for (const runs of ended.values()) {
      tookMs += runs.tookMs;
      count += runs.runs;
    }
    // Runs that took no time share equally.
    const part = (ofMs: number, runs: number): number => spentMs * (tookMs > 0 ? ofMs / tookMs : runs / count);
    // The time of a guest contains its start, which is no time of a run.
    const most = (ofMs: number): number => ofMs * cores;
    for (const [cell, { container, runs, tookMs: ofMs, cpuMs }] of ended) {
      const spent = part(ofMs, runs);
      usage.addCpu(cell, spent);
      metrics.used(container, runs, cpuMs + Math.min(spent, most(ofMs)));
    }
    for (const { trace, cell, tookMs: ofMs } of inFlight) {
      const spent = part(ofMs, 1);
      trace.sharedCpuMs += Math.min(spent, most(ofMs));
      usage.addCpu(cell, spent);
    }
  }

  #shareOf(guest: MeasuredGuest): Share {
    let share = this.#shares.get(guest);
    if (!share) this.#shares.set(guest, (share = { sinceMs: 0, cpuMs: 0, ended: new Map() }));
    return share;
  }
}
