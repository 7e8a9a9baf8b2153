import type { RunQuery } from "../query.ts";
import type { Day } from "./day.ts";
import type { Retention } from "./retention.ts";
import type { StoredRow } from "./stored-row.ts";

/** They go with each request, so that a thread that was started again has them. */
export interface WriterSettings extends Retention {
  readonly folder: string;
  /** The most bytes of a family in the file of a day. */
  readonly familyRuns: number;
  readonly omissions: OmissionBounds;
}

/** The most containers in the counts of omitted runs of a day. The further ones of a family are counted together. */
export interface OmissionBounds {
  /** Of all families, apart from one row of each family. */
  readonly ofAll: number;
  readonly ofFamily: number;
}

/** The runs of a family in a container that were left out. The container is empty if the count of containers was full. */
export type Omission = readonly [family: string, container: string, count: number];

/** What is written in one transaction. */
export interface Batch {
  readonly day: Day;
  readonly rows: readonly StoredRow[];
  readonly omissions: readonly Omission[];
}

export interface WriteRequest {
  readonly settings: WriterSettings;
  readonly batch: Batch;
}

/** What became of the rows of a batch. */
export interface BatchOutcome {
  /** The rows that are done with. A batch that takes long ends early, and its other rows are sent again. */
  readonly rows: number;
  /** The rows that a quota left out. */
  readonly omitted: number;
  /** The rows that the file cannot take. */
  readonly dropped: number;
  /** The families whose quota of the day is used up. */
  readonly full: readonly string[];
  /** Whether the file of the day is new, so that all quotas begin again. */
  readonly isNew: boolean;
}

/** The names of files, after old days were deleted. */
export interface KeptFiles {
  /** The file of the oldest day; empty if there is none. */
  readonly oldest: string;
  readonly setAside: readonly string[];
}

/** The answer to a check. */
export interface Check {
  readonly kept: KeptFiles;
  /** Whether another check would delete more. */
  readonly more: boolean;
}

export type ReadRequest = { readonly folder: string; readonly question: Question } | { readonly rest: string };

export type Question =
  | { readonly kind: "list"; readonly query: RunQuery; readonly reader: string }
  | { readonly kind: "failures"; readonly query: RunQuery }
  | { readonly kind: "get"; readonly container: string; readonly run: string };

/** The result of a read. */
export interface Reply {
  readonly json: string;
  /** Names of the files that could not be read. */
  readonly unreadable: readonly string[];
}

/** The reply to a step of a read: its result, or the name of the rest of the read. */
export type StepReply = Reply | { readonly rest: string };

/** A read in steps. It yields at the end of each step, and returns its result. */
export type SteppedRead = Generator<void, Reply>;
