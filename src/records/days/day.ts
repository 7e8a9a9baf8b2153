export const DAY_MS = 86_400_000;
/** The last day that has four digits in its year. */
const LAST_DAY = 2_932_896;

/** A day in UTC: the number of days since 1970-01-01. */
export type Day = number;

/** @param ms Unix milliseconds. @returns NaN if no file can have the name of that day. */
export function dayOf(ms: number): Day {
  const day = Math.floor(ms / DAY_MS);
  return day >= 0 && day <= LAST_DAY ? day : Number.NaN;
}

/** Returns the name of the file of a day, such as `2026-11-23.sqlite`. */
export function nameOf(day: Day): string {
  return `${new Date(day * DAY_MS).toISOString().slice(0, 10)}.sqlite`;
}

/** The day of a file, and the rest of its name: empty for the file itself, otherwise such as `-wal`. */
export interface DayName {
  readonly day: Day;
  readonly ending: string;
}

/** @returns null if it is not the name of a file of a day. */
export function parseName(name: string): DayName | null {
  const match = /^(\d{4}-\d{2}-\d{2})\.sqlite(.*)$/.exec(name);
  const day = match ? dayOf(Date.parse(`${match[1]}T00:00:00Z`)) : Number.NaN;
  // The second check rejects 2026-02-30, which some parsers accept as a day of March.
  return match && nameOf(day || 0).startsWith(match[1]!) ? { day, ending: match[2]! } : null;
}
