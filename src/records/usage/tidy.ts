import { COLUMNS } from "./columns.ts";
import type { UsageFile } from "./usage-file.ts";
import { OTHER } from "./usage.ts";

/** The bounds of the file. */
export interface TidyBounds {
  /** How long minutes are kept. Hours have the same counts. */
  readonly minutesMs: number;
  /** How long hours are kept: 13 months. */
  readonly hoursMs: number;
  /** The rows of minutes of all families. Past it the oldest hour of minutes goes first. */
  readonly minuteRows: number;
  /** The rows of hours of a family: stops a family that uses new names in each hour of a year. */
  readonly familyRows: number;
  /** The rows that one step deletes, because new counts wait meanwhile. */
  readonly stepRows: number;
}

/** @param rows the hours of a family that are kept, and the minutes of all families */
export function tidyBounds(rows: number): TidyBounds {
  return {
    minutesMs: 2 * 86_400_000,
    hoursMs: 396 * 86_400_000,
    minuteRows: rows,
    familyRows: rows,
    stepRows: 2_000,
  };
}

const HOUR_MINUTES = 60;
const MINUTE_MS = 60_000;
const SUMS = COLUMNS.map((column) => `SUM(${column}) AS ${column}`).join(", ");
const KEY = "family, at, container, token, task, code";

/**
 * Does one short step of the deletion of old rows, and of the check of one family's share.
 *
 * @returns whether another step has work to do.
 */
export function tidy(file: UsageFile, nowMs: number, bounds: TidyBounds): boolean {
  return file.transaction(() => {
    forgetMinutes(file, nowMs, bounds);
    const left = bounds.stepRows - deleteBefore(file, "minutes", file.meta("minutes_from"), bounds.stepRows);
    if (left <= 0) return true;
    const oldest = Math.floor((nowMs - bounds.hoursMs) / MINUTE_MS);
    if (deleteBefore(file, "hours", oldest, left) >= left) return true;
    return holdToShare(file, bounds);
  });
}

/** Moves the time from which on minutes are kept. Edges of a query before it are rounded to whole hours. */
function forgetMinutes(file: UsageFile, nowMs: number, { minutesMs, minuteRows }: TidyBounds): void {
  const from = file.meta("minutes_from");
  const due = wholeHour(Math.floor((nowMs - minutesMs) / MINUTE_MS));
  const { rows } = file.connection.prepare("SELECT COUNT(*) AS rows FROM minutes").get() as { rows: number };
  const crowded = rows > minuteRows ? Math.min(from + HOUR_MINUTES, wholeHour(Math.floor(nowMs / MINUTE_MS))) : from;
  file.setMeta("minutes_from", Math.max(from, due, crowded));
}

/** @returns the number of deleted rows. */
function deleteBefore(file: UsageFile, table: "minutes" | "hours", at: number, most: number): number {
  const remove = file.connection.prepare(`
    DELETE FROM ${table} WHERE (${KEY}) IN (SELECT ${KEY} FROM ${table} WHERE family = ? AND at < ? LIMIT ?)`);
  let deleted = 0;
  for (const family of familyIds(file)) {
    deleted += Number(remove.run(family, at, most - deleted).changes);
    if (deleted >= most) break;
  }
  return deleted;
}

/**
 * Checks the rows of the next family. Past its share, its oldest hours lose their names and keep their sums.
 *
 * @returns whether the family is past its share still.
 */
function holdToShare(file: UsageFile, { familyRows, stepRows }: TidyBounds): boolean {
  const families = familyIds(file);
  const last = file.meta("tidied_family");
  const family = families.find((id) => id > last) ?? families[0];
  if (family === undefined) return false;
  const count = file.connection.prepare("SELECT COUNT(*) AS rows FROM hours WHERE family = ?");
  let { rows } = count.get(family) as { rows: number };
  const leastRows = rows - stepRows;
  while (rows > familyRows) {
    const merged = mergeOldestHour(file, family);
    if (merged === null) break;
    rows -= merged;
    if (rows <= leastRows) return true;
  }
  file.setMeta("tidied_family", family);
  return false;
}

/** @returns how many rows the family has less, or null if all its hours are merged. */
function mergeOldestHour(file: UsageFile, family: number): number | null {
  const { connection } = file;
  const { at } = connection
    .prepare("SELECT MIN(at) AS at FROM hours WHERE family = ? AND (container <> ? OR token <> ? OR task <> ?)")
    .get(family, OTHER, OTHER, OTHER) as { at: number | null };
  if (at === null) return null;
  const sums = connection
    .prepare(`SELECT code, ${SUMS} FROM hours WHERE family = ? AND at = ? GROUP BY code`)
    .all(family, at);
  const { changes } = connection.prepare("DELETE FROM hours WHERE family = ? AND at = ?").run(family, at);
  const values = Array.from({ length: 6 + COLUMNS.length }, () => "?").join(", ");
  const insert = connection.prepare(`INSERT INTO hours (${KEY}, ${COLUMNS.join(", ")}) VALUES (${values})`);
  for (const row of sums) {
    insert.run(family, at, OTHER, OTHER, OTHER, row["code"]!, ...COLUMNS.map((column) => row[column]!));
  }
  return Number(changes) - sums.length;
}

function familyIds(file: UsageFile): number[] {
  return file.connection
    .prepare("SELECT id FROM families ORDER BY id")
    .all()
    .map(({ id }) => Number(id));
}

function wholeHour(minute: number): number {
  return minute - (minute % HOUR_MINUTES);
}
