import { BlockDetector, type BlockLimits } from "./block-detector.ts";
import { CpuHogs, type HogState } from "./cpu-hogs.ts";
import { type Finding, gravest } from "./findings.ts";
import { LimitCheck, type LimitState } from "./limit-check.ts";
import type { DueSample } from "./sampling-order.ts";
import { keepsLowShare } from "./slowed.ts";
import type { StallState } from "./stall-state.ts";
import type { GuestFacts, ResourceLimits, UsageSample } from "./usage-sample.ts";

export interface MonitorLimits extends ResourceLimits, BlockLimits {}

/** What each judge has seen of one guest; null before its first sample. */
export interface GuestStates {
  readonly limits: LimitState | null;
  readonly hog: HogState | null;
  /** The state of the ping that the guest has not answered; null if it owes no answer. */
  readonly stall: StallState | null;
}

/** A sample that is due, and the judges that read it. */
export interface DueJudges extends DueSample {
  readonly forLimits: boolean;
  readonly forHogs: boolean;
  /** The ping that the guest owes an answer to if the block detector reads the sample, otherwise null. */
  readonly pingedMs: number | null;
}

export const NO_STATES: GuestStates = { limits: null, hog: null, stall: null };

/**
 * The three judges of a guest. Each of them computes when its next sample is due; one sample serves all that are due. Nothing
 * here reads a clock or changes a guest.
 */
export class Judges {
  readonly #limits: LimitCheck;
  readonly #blocks: BlockDetector;
  readonly #hogs: CpuHogs;

  constructor(limits: MonitorLimits) {
    this.#limits = new LimitCheck(limits);
    this.#blocks = new BlockDetector(limits);
    this.#hogs = new CpuHogs(limits.cpuCores);
  }

  /** @returns null if no judge needs a sample now. */
  due({ limits, hog, stall }: GuestStates, guest: GuestFacts, leastMs: number, nowMs: number): DueJudges | null {
    const limitsMs = this.#limits.dueMs(limits, guest, leastMs);
    const hogsMs = this.#hogs.dueMs(hog, guest);
    const stallMs = this.#blocks.dueMs(stall, guest);
    const dueMs = Math.min(limitsMs, hogsMs, stallMs);
    if (dueMs > nowMs) return null;
    return {
      dueMs,
      isUrgent: this.#blocks.isUrgent(stall, guest, nowMs),
      forLimits: limitsMs <= nowMs,
      // At this priority no sample is due for hogs, but the figures to compare with must not grow old.
      forHogs: hogsMs <= nowMs || guest.priority === "low",
      pingedMs: stallMs <= nowMs ? guest.heartbeat.pingedMs : null,
    };
  }

  /** The states when a sample was requested, before it arrives. */
  afterRequest(states: GuestStates, { forLimits }: DueJudges, runs: number, nowMs: number): GuestStates {
    return forLimits ? { ...states, limits: this.#limits.afterRequest(states.limits, nowMs, runs) } : states;
  }

  /** The states after a sample, and the gravest of what it shows. */
  afterSample(
    states: GuestStates,
    { forLimits, forHogs, pingedMs }: DueJudges,
    sample: UsageSample,
    guest: GuestFacts,
  ): { states: GuestStates; finding: Finding | null } {
    const found: (Finding | null)[] = [];
    let { limits, hog, stall } = states;
    if (forLimits && limits) {
      const checked = this.#limits.afterSample(limits, sample, guest.warm);
      limits = checked.state;
      found.push(checked.finding, keepsLowShare(sample, guest) ? "slowed" : null);
    }
    if (forHogs) hog = this.#hogs.afterSample(hog, sample, guest.priority);
    // The guest may have answered while the kernel collected the figures.
    if (pingedMs !== null && guest.heartbeat.pingedMs === pingedMs) {
      stall = this.#blocks.afterSample(stall, sample, pingedMs, states.hog?.usedMs ?? null);
      if (this.#blocks.isBlocked(stall)) found.push("blocked");
    }
    return { states: { limits, hog, stall }, finding: gravest(found) };
  }

  needsTurn(stall: StallState, nowMs: number): boolean {
    return this.#blocks.needsTurn(stall, nowMs);
  }
}
