import type { RunQuery } from "../query.ts";
import type { Day } from "./day.ts";
import type { Retention } from "./retention.ts";
import type { StoredRow } from "./stored-row.ts";

/** What the writer thread is started with. */
export interface WriterSettings extends Retention {
  readonly folder: string;
  /** The most bytes of a family in the file of a day. */
  readonly familyRuns: number;
}

/** The runs of a family in a container that were left out. The container is empty if the count of containers was full. */
export type Omission = readonly [family: string, container: string, count: number];

/** What is written in one transaction. */
export interface Batch {
  readonly day: Day;
  readonly rows: readonly StoredRow[];
  readonly omissions: readonly Omission[];
}

export type ToWriter = { readonly kind: "batch"; readonly batch: Batch } | { readonly kind: "close" };

/** What became of the rows of a batch. */
export interface BatchOutcome {
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

/** The writer answers each batch. The other messages are about its regular checks. */
export type FromWriter =
  | { readonly kind: "written"; readonly outcome: BatchOutcome }
  | { readonly kind: "failed"; readonly reason: string }
  | { readonly kind: "checked"; readonly reason: null; readonly kept: KeptFiles }
  | { readonly kind: "checked"; readonly reason: string };

/** The reader thread does one read at a time. */
export type ToReader =
  | { readonly kind: "list"; readonly query: RunQuery; readonly reader: string }
  | { readonly kind: "failures"; readonly query: RunQuery }
  | { readonly kind: "get"; readonly container: string; readonly run: string };

/** The result of a read. */
export interface Reply {
  readonly json: string;
  /** Names of the files that could not be read. */
  readonly unreadable: readonly string[];
}

/** The reply, or why there is none. */
export type FromReader = ({ readonly kind: "answer" } & Reply) | { readonly kind: "failed"; readonly reason: string };
