import type { Finding } from "./findings.ts";
import { type GuestFacts, NEVER_DUE, type ResourceLimits, type UsageSample } from "./usage-sample.ts";

/** What the checks of a guest have shown. */
export interface LimitState {
  /** When the last check was requested, and the number of runs that the guest had received by then. */
  readonly askedMs: number;
  readonly runs: number;
  /** The memory of the guest when it was first checked after its start; 0 before. */
  readonly firstBytes: number;
  /** When the current window of processor use began, and what the guest had used by then. */
  readonly window: { readonly sinceMs: number; readonly usedMs: number } | null;
}

/** The time between checks if control groups enforce all limits, and only growth is left to check. */
const GROWTH_MS = 5_000;
/** The time between checks without a control group for the processor. A guest is then also checked after its answers. */
const IDLE_CPU_MS = 1_000;
/** The same for memory, which grows faster: page tables, which no limit of a process bounds, by gigabytes a second. */
const IDLE_MEMORY_MS = 250;
const CPU_WINDOW_MS = 10_000;
/** A guest of one busy thread also collects garbage and compiles in other threads. */
const CPU_SLACK = 1.5;
/** The part of its memory limit that a guest may grow by before it is replaced. */
const MOST_GROWTH = 1 / 2;

/** Checks guests from time to time: what they have grown to, and the limits that no control group enforces. */
export class LimitCheck {
  readonly #limits: ResourceLimits;

  constructor(limits: ResourceLimits) {
    this.#limits = limits;
  }

  /**
   * When the next check is due.
   *
   * @param leastMs the minimum time between two samples of a guest, so that every guest has a sample before the first has two.
   */
  dueMs(state: LimitState | null, { inFlight, runs }: GuestFacts, leastMs: number): number {
    if (!state) return 0;
    const { held } = this.#limits;
    if (held.memory && held.cpu) return runs === state.runs ? NEVER_DUE : state.askedMs + GROWTH_MS;
    if (held.memory) return state.askedMs + IDLE_CPU_MS;
    return state.askedMs + (inFlight.size > 0 ? leastMs : Math.max(IDLE_MEMORY_MS, leastMs));
  }

  /** Notes a request before its answer, so that a guest without a process, which gives no answer, is not sampled again at once. */
  afterRequest(state: LimitState | null, askedMs: number, runs: number): LimitState {
    return { ...(state ?? { firstBytes: 0, window: null }), askedMs, runs };
  }

  /** @param isWarm whether the guest's start is over. Until then the guest grows without a task. */
  afterSample(state: LimitState, sample: UsageSample, isWarm: boolean): { state: LimitState; finding: Finding | null } {
    const firstBytes = state.firstBytes || (isWarm ? sample.memoryBytes : 0);
    const grownBytes = isWarm ? sample.memoryBytes - firstBytes : 0;
    const { window } = state;
    const isOver = window === null || sample.atMs - window.sinceMs >= windowMs(this.#limits);
    const next = isOver ? { sinceMs: sample.atMs, usedMs: sample.processCpuMs } : window;
    const usedCores = window && isOver ? averageCores(window, sample) : 0;
    return {
      state: { ...state, firstBytes, window: next },
      finding: this.#judge(sample, usedCores, grownBytes),
    };
  }

  #judge(sample: UsageSample, usedCores: number, grownBytes: number): Finding | null {
    const { held, memoryBytes, threads, cpuCores } = this.#limits;
    if (!held.memory && sample.memoryBytes > memoryBytes) return "memory";
    if (!held.memory && sample.threads > threads) return "threads";
    if (!held.cpu && usedCores > cpuCores * CPU_SLACK) return "processors";
    return grownBytes > memoryBytes * MOST_GROWTH ? "grown" : null;
  }
}

/** The length of a window of processor use. */
export function windowMs({ cpuWindowMs = CPU_WINDOW_MS }: ResourceLimits): number {
  return cpuWindowMs;
}

function averageCores(window: { sinceMs: number; usedMs: number }, { atMs, processCpuMs }: UsageSample): number {
  return (processCpuMs - window.usedMs) / (atMs - window.sinceMs);
}
