import type { KeptRun, RunStatus } from "./record.ts";

/** A run that has ended. Its record is made at the first need, because most runs succeed silently and are never read. */
export interface EndedRun {
  readonly run: string;
  readonly container: string;
  readonly status: RunStatus;
  /** The family of tokens that pays for its storage. */
  readonly family: string;
  /** Unix milliseconds. */
  readonly startedMs: number;
  /** The approximate memory that it holds: its console lines, its error and its names. */
  readonly bytes: number;
  /** The part of `bytes` that its console lines take. */
  readonly lineBytes: number;
  /** Whether it succeeded and printed nothing. */
  readonly isSilent: boolean;
  /** Whether all console lines that it had at its end are left. */
  readonly isWhole: boolean;
  /** Returns the run without its console lines, which its record then counts as dropped. It may be the same object. */
  withoutLines(): EndedRun;
  /** Adds a hint to the record, unless it has an error or a hint. @returns by how much `bytes` has grown */
  hintLate?(hint: string): number;
  kept(): KeptRun;
}
