/** What the samples have shown of a guest since it owes the answer to a ping. */
export interface StallState {
  /** When the ping was sent. */
  readonly pingedMs: number;
  /** The first sample after it. */
  readonly first: { readonly atMs: number; readonly cpuMs: number };
  /** What all of its threads had used before it fell silent; null if no sample had shown that. */
  readonly usedBeforeMs: number | null;
  /** Whether it keeps its share: what it has used since then is no more than a short run uses. */
  readonly isSpared: boolean;
  /** When the last sample was taken. */
  readonly lastMs: number;
  /** The number of samples after the first. */
  readonly samples: number;
  /** The number of these in which the main thread slept. */
  readonly asleep: number;
  /** Whether it slept in the last one. */
  readonly isAsleep: boolean;
  /** The processor time of the main thread since the first sample, in proportion to its quota if that is less than 1. */
  readonly burnedMs: number;
  /** How long the guest has had turns: its usual share of the processor, although it owes an answer. */
  readonly turnMs: number;
}
