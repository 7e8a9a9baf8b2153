import type { Priority } from "../../sandbox/sandbox.ts";
import { type GuestFacts, NEVER_DUE, type UsageSample } from "./usage-sample.ts";

/** What the samples of a guest have shown of its processor use. */
export interface HogState {
  /** When the last sample was taken, and what the guest had used by then. */
  readonly atMs: number;
  readonly usedMs: number;
  /** The number of runs that the guest had received by then. */
  readonly runs: number;
  /** The wait before the next sample. */
  readonly everyMs: number;
  /** Whether the guest used next to nothing. */
  readonly isCalm: boolean;
  /** Consecutive samples in which the main thread was running or waiting for a processor. */
  readonly runnable: number;
  /** Consecutive samples in which it was not, and in which the guest used little. */
  readonly resting: number;
  readonly isHog: boolean;
}

/** An honest guest computes for less than half of this in one go. */
const SAMPLE_MS = 150;
/** The longest wait between samples of a guest that stays calm, for example because it waits for the network. */
const LONGEST_WAIT_MS = 500;
/** Shares of one processor, or of the quota of a guest if that is less. */
const HOG_SHARE = 1 / 2;
const CALM_SHARE = 1 / 8;
/** On a full machine no guest gets half a processor. So a guest that is runnable in so many consecutive samples is a hog, too. */
const RUNNABLE_SAMPLES = 5;
const RESTING_SAMPLES = 2;

/**
 * Finds guests that keep using the processor, and not only now and then. A guest can do so and still answer every ping.
 * The service gives this guest a lower share. The service samples a guest while it has runs, and then until it is calm. So
 * it also finds a task that burns the processor after its answer.
 *
 * The use shows little if a guest gets little, so a main thread that stays runnable counts, too. Other threads that burn the
 * processor are found only by their use. On a full machine they may not be found.
 */
export class CpuHogs {
  readonly #cores: number;
  readonly #sampleMs: number;

  /** @param cpuCores the processor quota of a guest. */
  constructor(cpuCores: number) {
    this.#cores = Math.min(1, cpuCores);
    // The kernel counts in units of 10 ms, which are a larger part of a small quota.
    this.#sampleMs = SAMPLE_MS / this.#cores;
  }

  /** When the next sample is due. */
  dueMs(state: HogState | null, { inFlight, runs, priority }: GuestFacts): number {
    // The guest owes an answer, so the block detector samples it often enough. Its use at this priority shows nothing.
    if (priority === "low") return NEVER_DUE;
    const isIdle = inFlight.size === 0 && runs === (state?.runs ?? 0);
    if (isIdle && (state?.isCalm ?? true)) return NEVER_DUE;
    return state ? state.atMs + state.everyMs : 0;
  }

  /** @param priority the guest's priority since the last sample. */
  afterSample(state: HogState | null, sample: UsageSample, priority: Priority): HogState {
    const { atMs, processCpuMs, runs } = sample;
    const seen = { atMs, usedMs: processCpuMs, runs, isCalm: false };
    if (!state) return { ...seen, everyMs: this.#sampleMs, runnable: 0, resting: 0, isHog: false };
    // The last sample is too old: an average since then would hide what the guest does now.
    if (state.isCalm && sample.askedMs - state.atMs > 2 * state.everyMs) {
      return { ...state, ...seen, everyMs: this.#sampleMs };
    }
    // Every other guest comes before it, so its use shows nothing.
    if (priority === "low") return { ...state, ...seen };
    const share = (processCpuMs - state.usedMs) / (atMs - state.atMs) / this.#cores;
    return { ...seen, ...this.#judge(state, share, sample.state === "R") };
  }

  /** @param share the used part of the guest's maximum processor time since the last sample. */
  #judge(state: HogState, share: number, isRunnable: boolean): Omit<HogState, "atMs" | "usedMs" | "runs"> {
    const runnable = isRunnable ? state.runnable + 1 : 0;
    const resting = isRunnable || share >= HOG_SHARE ? 0 : state.resting + 1;
    const burns = share >= HOG_SHARE || runnable >= RUNNABLE_SAMPLES;
    const isHog = burns || (state.isHog && resting < RESTING_SAMPLES);
    const isCalm = !isRunnable && share < CALM_SHARE && !isHog;
    const longestMs = Math.max(LONGEST_WAIT_MS, this.#sampleMs);
    return {
      ...{ runnable, resting, isHog, isCalm },
      everyMs: isCalm ? Math.min(2 * state.everyMs, longestMs) : this.#sampleMs,
    };
  }
}
