import type { LimitVector, WindowName } from "./windows.ts";

export type KeyClass = "container" | "token";

/** One key that a run is counted against, and the limits that apply to it in this run. */
export interface Charge {
  readonly key: string;
  readonly class: KeyClass;
  readonly limits: LimitVector;
}

/** What is left of one key. The arrays hold six numbers in the order of `WINDOW_NAMES`; 0 if the window is not tracked. */
export interface KeyUsage {
  readonly class: KeyClass;
  readonly limits: LimitVector;
  /** Runs that would be admitted now. */
  readonly remaining: readonly number[];
  /** Milliseconds until `remaining` next grows; 0 when nothing is used. */
  readonly resetMs: readonly number[];
}

/** What is left of one key, and its use. */
export interface KeyReading extends KeyUsage {
  /** Runs that count now, also in windows without a limit. This exceeds the limit after the limit was lowered. */
  readonly used: readonly number[];
}

/** A window that has no run left. */
export interface Violation {
  readonly class: KeyClass;
  readonly window: WindowName;
  readonly limit: number;
  readonly remaining: number;
  /** Milliseconds until this window admits a run again. */
  readonly retryAfterMs: number;
}

export interface Decision {
  readonly admitted: boolean;
  /** The use after the decision, in the order of the charges. */
  readonly usage: readonly KeyUsage[];
  /** 0 if admitted. Otherwise exact: a run is admitted after this time if no other run takes it, and not 1 ms earlier. */
  readonly retryAfterMs: number;
  readonly violations: readonly Violation[];
}

/** A store of the counts. Every implementation passes `test/suites/limit-store.ts`. */
export interface LimitStore {
  /** Why the counts of runs cannot be stored now; null if they can, and five seconds after the last attempt. */
  readonly failure: Error | null;
  /**
   * Counts one run against all keys in all six windows, or against none. Resolves when the count is stored.
   *
   * @throws {Problem} `store_unavailable` when the count cannot be stored. Then nothing is counted, and the run may not start.
   */
  admit(charges: readonly Charge[]): Promise<Decision>;
  /**
   * Returns what is left of each key, all at one time. Creates no state.
   *
   * @param holder the `holder` argument of `nextTurn`, if the read may wait behind others: what a client lists must not delay decisions
   */
  read(charges: readonly Charge[], holder?: string): Promise<KeyReading[]>;
  /** Clears all six windows of a key at once. */
  reset(key: string): Promise<void>;
  /**
   * Returns the keys that begin with one of the prefixes and count at least one run: the first `count` after `after`, ordered by
   * UTF-16 code units. Keys that appear or expire during the call may be missing or present.
   *
   * @param holder the `holder` argument of `nextTurn`
   */
  keys(prefixes: readonly string[], after: string, count: number, holder?: string): Promise<string[]>;
  close(): Promise<void>;
}
