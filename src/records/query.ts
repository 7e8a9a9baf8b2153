import type { RunStatus } from "./record.ts";

/** Which containers a reader may see: exact names, or prefixes that end in `*`. */
export type ContainerPatterns = readonly string[];

/** A question about stored runs. Every member narrows it. */
export interface RunQuery {
  /** The containers that the reader's token permits. */
  readonly permitted: ContainerPatterns;
  readonly container: string | null;
  readonly task: string | null;
  readonly statuses: readonly RunStatus[] | null;
  /** Unix milliseconds: the earliest start. */
  readonly sinceMs: number | null;
  /** Unix milliseconds: runs that started before it. */
  readonly untilMs: number | null;
  /** A text in the error, the console or the name of the task, in any case of letters. */
  readonly text: string | null;
  /** The cursor after which the page begins: `<startedMs>.<run>`. */
  readonly after: Cursor | null;
  /** The most entries of the page. */
  readonly count: number;
}

export interface Cursor {
  readonly startedMs: number;
  readonly run: string;
}

/** The id of a position that comes before all runs of its millisecond. */
export const HIGHEST_RUN = "ffffffffffff-zzzzzzzzzzzz";

/** Parses a cursor. @returns null if it has another form. */
export function parseCursor(text: string): Cursor | null {
  const match = /^(\d{1,15})\.([0-9a-f]{12}-[0-9a-z]{1,12})$/.exec(text);
  return match && { startedMs: Number(match[1]), run: match[2]! };
}

/** Orders runs as all lists do: negative if `a` comes before `b`. */
export function byNewest(a: Cursor, b: Cursor): number {
  return b.startedMs - a.startedMs || (a.run < b.run ? 1 : a.run > b.run ? -1 : 0);
}
