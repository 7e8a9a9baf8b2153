import type { StallState } from "./stall-state.ts";
import { type GuestFacts, NEVER_DUE, type UsageSample } from "./usage-sample.ts";

export interface BlockLimits {
  readonly blockMs: number;
  /** The processor quota of a guest. */
  readonly cpuCores: number;
}

/** The time that a guest may compute in one step and keep its share of the processor. */
const SLOW_MS = 100;
/**
 * What a guest may use, before the service lowers its share, since a sample before it fell silent. On a full machine a guest
 * that wants a millisecond is silent for longer than `SLOW_MS`, and would wait for seconds after all others. A guest that
 * computes has used this much soon. A main thread that sleeps may wait for a thread of V8, such as its collector of garbage, which
 * would otherwise wait after all other guests, until the guest counts as blocked.
 */
const SPARED_MS = 25;
/** A guest may be innocent if the machine kept it waiting for more than this part of the time. */
const HELD_UP = 1 / 2;
/** The part of the limit for which samples must have shown that a guest burns the processor or sleeps. */
const LEAST_OBSERVED = 1 / 2;
/**
 * A guest is not innocent if it has burned this part of the limit, and more than an honest step takes. Otherwise, on a
 * machine with many other processes, a guest that blocks would live and keep its share for longer.
 */
const BURNED_ENOUGH = 1 / 8;
const LONG_STEP_MS = 250;
/** From this part of the limit on, a guest that received too little processor time to be judged has turns. */
const FIRST_TURN = 1 / 4;
/** The time between samples of a guest that has no turn, except for the sample at its limit. */
const SAMPLE_MS = 100;
/** The states of proc(5) in which a thread waits, waits for the disk, or is stopped. An ending thread has another state. */
const SLEEPS: ReadonlySet<string> = new Set(["S", "D", "T", "t"]);

/**
 * Judges guests that owe an answer for longer than an honest step mostly takes. Each of these guests that has computed gets the processor
 * after all others, until it answers or counts as blocked: its main thread burns the processor, or sleeps. If the main
 * thread is runnable and gets no processor, the guest has more time, until it has burned an eighth of the limit.
 *
 * The processor time that no other guest wants may not be enough for that. So from a quarter of the limit on the guest has
 * its share back in turns (`stall-turns.ts`).
 *
 * Other processes of the host may leave all guests so little that none burns enough for long. The time alone never shows that
 * a guest is blocked: on a busy host, the first import of a large package takes seconds. The deadline of the run ends a guest
 * that has not burned enough by then.
 */
export class BlockDetector {
  readonly #limits: BlockLimits;

  constructor(limits: BlockLimits) {
    this.#limits = limits;
  }

  /**
   * When the next sample is due. A guest that runs and has a turn, or keeps its share, is sampled at each tick: that ends when it
   * has burned enough.
   */
  dueMs(state: StallState | null, { warm, priority, heartbeat: { pingedMs } }: GuestFacts): number {
    // A start has a separate limit, and on a busy machine takes most of it.
    if (pingedMs === null || !warm) return NEVER_DUE;
    const { blockMs } = this.#limits;
    if (state?.pingedMs !== pingedMs) return pingedMs + Math.min(SLOW_MS, blockMs / 4);
    if (priority !== "low" && !state.isAsleep) return state.lastMs;
    const limitMs = pingedMs + blockMs;
    const nextMs = state.lastMs + SAMPLE_MS;
    return state.lastMs < limitMs ? Math.min(nextMs, limitMs) : nextMs;
  }

  /** Whether the guest's next sample may end it, or lower its share. */
  isUrgent(state: StallState | null, { priority }: GuestFacts, nowMs: number): boolean {
    if (!state) return false;
    const limitMs = state.pingedMs + this.#limits.blockMs;
    return (priority !== "low" && !state.isAsleep) || (state.lastMs < limitMs && nowMs >= limitMs);
  }

  /**
   * @param pingedMs when the ping was sent that the guest has not answered.
   * @param lastUsedMs what all threads of the guest had used at the sample before this one; null if there was none.
   */
  afterSample(
    state: StallState | null,
    sample: UsageSample,
    pingedMs: number,
    lastUsedMs: number | null = null,
  ): StallState {
    const { atMs, cpuMs, processCpuMs } = sample;
    const isAsleep = SLEEPS.has(sample.state);
    const isFirst = state?.pingedMs !== pingedMs;
    const usedBeforeMs = isFirst ? (lastUsedMs ?? (isAsleep ? processCpuMs : null)) : state.usedBeforeMs;
    const isSpared = usedBeforeMs !== null && processCpuMs - usedBeforeMs < SPARED_MS;
    if (isFirst) {
      const none = { samples: 0, asleep: 0, isAsleep, burnedMs: 0, turnMs: 0 };
      return { pingedMs, first: { atMs, cpuMs }, lastMs: atMs, usedBeforeMs, isSpared, ...none };
    }
    return {
      ...state,
      isSpared,
      lastMs: atMs,
      samples: state.samples + 1,
      asleep: state.asleep + Number(isAsleep),
      isAsleep,
      burnedMs: (cpuMs - state.first.cpuMs) / Math.min(1, this.#limits.cpuCores),
    };
  }

  isBlocked({ pingedMs, first, lastMs, samples, asleep, burnedMs }: StallState): boolean {
    const { blockMs } = this.#limits;
    // The first sample is what later ones are compared with.
    if (samples === 0 || lastMs - pingedMs < blockMs) return false;
    if (burnedMs >= this.#enoughMs) return true;
    const observedMs = lastMs - first.atMs;
    // A machine that delays the service too may delay the first sample. A moment shows nothing of the time before.
    if (observedMs < blockMs * LEAST_OBSERVED) return false;
    return 1 - asleep / samples - burnedMs / observedMs <= HELD_UP;
  }

  /** Whether the guest is runnable, and has received too little processor time to be judged at its limit. */
  needsTurn({ pingedMs, isAsleep, burnedMs }: StallState, nowMs: number): boolean {
    return !isAsleep && burnedMs < this.#enoughMs && nowMs - pingedMs >= this.#limits.blockMs * FIRST_TURN;
  }

  /** The burned time that is enough to judge. Under a short limit, a guest that is just innocent would burn as much. */
  get #enoughMs(): number {
    const { blockMs } = this.#limits;
    return Math.min(blockMs * (1 - HELD_UP), Math.max(blockMs * BURNED_ENOUGH, LONG_STEP_MS));
  }
}
