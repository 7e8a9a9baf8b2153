import type { DayFiles, DayFolder } from "./day-folder.ts";
import { type Day, DAY_MS, dayOf } from "./day.ts";

export interface Retention {
  /** Milliseconds after the end of a day until its files are deleted. */
  readonly keepRuns: number;
  /** The most bytes of all files. */
  readonly runsSize: number;
}

/** The days that are deleted at once. The deletion of a large file can take a second, and the writer has other work. */
const DELETED_AT_ONCE = 1;

/** What a step of the deletion has left. */
export interface Retained {
  readonly files: readonly DayFiles[];
  /** Whether another step has work to do. */
  readonly more: boolean;
}

/** Returns whether a day ended so long ago that its records are deleted. */
export function isExpired(day: Day, keepRuns: number, nowMs: number): boolean {
  return (day + 1) * DAY_MS <= nowMs - keepRuns;
}

/**
 * Does one step of the deletion of whole days: the days that are too old, and then the oldest until all files have the permitted size. The database
 * of today is never deleted, because its writer stops at the permitted size.
 *
 * @param release closes the database of a day before its files are deleted
 */
export function retain(
  folder: DayFolder,
  { keepRuns, runsSize }: Retention,
  nowMs: number,
  release: (day: Day) => void,
): Retained {
  const today = dayOf(nowMs);
  const files = folder.files();
  // A wrong clock may have made days of the future. They go last, but they go.
  const inOrder = [...files.filter(({ day }) => day <= today), ...files.filter(({ day }) => day > today)];
  let bytes = files.reduce((sum, each) => sum + each.bytes, 0);
  let deleted = 0;
  let more = false;
  const left = inOrder.filter((each) => {
    const isCurrent = each.day === today && !each.isSetAside;
    if (isCurrent || !(isExpired(each.day, keepRuns, nowMs) || bytes > runsSize)) return true;
    more = deleted === DELETED_AT_ONCE;
    if (more) return true;
    release(each.day);
    folder.remove(each);
    bytes -= each.bytes;
    deleted += 1;
    return false;
  });
  return { files: left, more };
}
