import type { LimitVector, WindowName } from "./windows.ts";

export type KeyClass = "container" | "token";

/** One key that a run is counted against, and the limits that apply to it in this run. */
export interface Charge {
  readonly key: string;
  readonly class: KeyClass;
  readonly limits: LimitVector;
}

/** What is left of one key. The arrays hold six numbers in the order of `WINDOW_NAMES`, 0 where it is not tracked. */
export interface KeyUsage {
  readonly class: KeyClass;
  readonly limits: LimitVector;
  /** Runs that would be admitted now. */
  readonly remaining: readonly number[];
  /** Milliseconds until `remaining` next grows; 0 when nothing is used. */
  readonly resetMs: readonly number[];
}

/** What is left of one key, and what has been used of it. */
export interface KeyReading extends KeyUsage {
  /** Runs that count now, also where no limit is tracked; above the limit where it was lowered. */
  readonly used: readonly number[];
}

/** A window that has nothing left. */
export interface Violation {
  readonly class: KeyClass;
  readonly window: WindowName;
  readonly limit: number;
  readonly remaining: number;
  /** Until this window admits a run again. */
  readonly retryAfterMs: number;
}

export interface Decision {
  readonly admitted: boolean;
  /** After the decision, in the order of the charges. */
  readonly usage: readonly KeyUsage[];
  /** 0 when admitted. Else exact: a run is admitted after so long if nobody else spends it, and not 1 ms earlier. */
  readonly retryAfterMs: number;
  readonly violations: readonly Violation[];
}

/** Where the counts are kept. Every store passes the one conformance suite. */
export interface LimitStore {
  /**
   * Counts one run against all the keys on all six windows, or against none. Resolves when the count is kept.
   *
   * @throws {Problem} `store_unavailable` when it cannot be kept: then nothing is counted, and nothing may run.
   */
  admit(charges: readonly Charge[]): Promise<Decision>;
  /** What is left of each key, at one time. Makes no state. */
  read(charges: readonly Charge[]): Promise<KeyReading[]>;
  /** Clears all six windows of a key at once. */
  reset(key: string): Promise<void>;
  /**
   * The keys that begin with `prefix` and count at least one run, at most `count` of them: the first ones after `after`,
   * by their UTF-16 code units. Keys that come or go meanwhile may be missing or there.
   */
  keys(prefix: string, after: string, count: number): Promise<string[]>;
  close(): Promise<void>;
}
