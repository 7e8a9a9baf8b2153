import type { Cursor, RunQuery } from "./query.ts";
import type { KeptRun, RunEntry, RunRecord } from "./record.ts";

/** A page of stored runs. */
export interface StoredPage {
  readonly runs: readonly { readonly entry: RunEntry; readonly startedMs: number }[];
  /** The cursor of the next page; null at the end. Set also if the search stopped early, so a page may be empty. */
  readonly next: Cursor | null;
  /** The runs of the days of the page that the shares left out, in the permitted containers that the query names. */
  readonly omitted: number;
}

/** Failures of one cause. */
export interface FailureGroup {
  readonly container: string;
  readonly task: string | null;
  readonly code: string;
  readonly name: string | null;
  /** `file:line` of the throw, or null. */
  readonly frame: string | null;
  readonly message: string;
  readonly count: number;
  readonly firstAt: string;
  readonly lastAt: string;
  /** The id of the latest run. */
  readonly run: string;
}

/** Failures from the newest to a position, grouped by their cause. */
export interface FailurePage {
  readonly groups: readonly FailureGroup[];
  /** Whether all failures are counted that the query selects. */
  readonly complete: boolean;
  /** The position after which the next page counts on; null at the end. */
  readonly next: Cursor | null;
}

/** Why records were lost. Each is a count since the start. */
export interface RecordLosses {
  /** The queue to the writer was full, or the writer had failed. */
  readonly dropped: number;
  /** The family or the container had used its share. */
  readonly omitted: number;
  /** Day files that cannot be read, by name. */
  readonly unreadable: readonly string[];
  /** The last error of the writer, or null while it works. */
  readonly failure: string | null;
}

/** Keeps the records of runs on disk. It never blocks and never throws at a run. */
export interface RecordStore {
  /** Writes the record soon, unless a share or a full queue leaves it out. */
  add(kept: KeptRun): void;
  /** @param reader the family of the reader, which has one read at a time. */
  list(query: RunQuery, reader: string): Promise<StoredPage>;
  /** Returns the run, or null if it is not stored. */
  get(
    container: string,
    run: string,
    reader: string,
  ): Promise<{ record: RunRecord; lineage: readonly string[] } | null>;
  failures(query: RunQuery, reader: string): Promise<FailurePage>;
  readonly losses: RecordLosses;
  /** Writes what is queued, and closes all files. */
  close(): Promise<void>;
}
