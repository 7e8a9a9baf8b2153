import type { DayFiles, DayFolder } from "./day-folder.ts";
import { type Day, DAY_MS, dayOf } from "./day.ts";

export interface Retention {
  /** Milliseconds after the end of a day until its files are deleted. */
  readonly keepRuns: number;
  /** The most bytes of all files. */
  readonly runsSize: number;
}

/** Returns whether a day ended so long ago that its records are deleted. */
export function isExpired(day: Day, keepRuns: number, nowMs: number): boolean {
  return (day + 1) * DAY_MS <= nowMs - keepRuns;
}

/**
 * Deletes whole days: the days that are too old, and then the oldest until all files have the permitted size. The database
 * of today is never deleted, because its writer stops at the permitted size.
 *
 * @param release closes the database of a day before its files are deleted
 * @returns the files that are left.
 */
export function retain(
  folder: DayFolder,
  { keepRuns, runsSize }: Retention,
  nowMs: number,
  release: (day: Day) => void,
): DayFiles[] {
  const today = dayOf(nowMs);
  const files = folder.files();
  // A wrong clock may have made days of the future. They go last, but they go.
  const inOrder = [...files.filter(({ day }) => day <= today), ...files.filter(({ day }) => day > today)];
  let bytes = files.reduce((sum, each) => sum + each.bytes, 0);
  return inOrder.filter((each) => {
    const isCurrent = each.day === today && !each.isSetAside;
    if (isCurrent || !(isExpired(each.day, keepRuns, nowMs) || bytes > runsSize)) return true;
    release(each.day);
    folder.remove(each);
    bytes -= each.bytes;
    return false;
  });
}
