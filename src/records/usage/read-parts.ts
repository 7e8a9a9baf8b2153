import { OTHER, type UsageQuery } from "./usage.ts";

/** A part of the time of a query: `at` from the first minute, before the last. */
export interface Span {
  readonly table: "minutes" | "hours";
  readonly from: number;
  readonly to: number;
}

/** Rows that a read looks at one after the other, in the order of an index. */
export interface Part {
  readonly table: Span["table"];
  /** A condition of SQL for its rows. */
  readonly where: string;
  readonly values: readonly (string | number)[];
  /** The columns that order the rows. The index of the rows has them after those that are fixed. */
  readonly key: readonly string[];
  /** Its rows have at least this key. */
  readonly from: Key;
  /** Its rows have a lower key. */
  readonly to: Key;
}

/** The values of the columns of a key. */
export type Key = readonly (string | number)[];

export interface Family {
  readonly id: number;
  readonly name: string;
}

const MINUTE_MS = 60_000;
const HOUR = 60;
/** No name of a container begins with a character before it, and `OTHER` does. */
const FIRST = "-";
/** A character after all those of names. */
const LAST = "\u007F";

/**
 * Splits the time of a query into whole hours and the minutes at its edges. An edge whose minutes are deleted is rounded to
 * a whole hour.
 */
export function spansOf({ fromMs, toMs }: Pick<UsageQuery, "fromMs" | "toMs">, minutesFrom: number): Span[] {
  let from = Math.floor(fromMs / MINUTE_MS);
  let to = Math.ceil(toMs / MINUTE_MS);
  if (from < minutesFrom) from = floorHour(from);
  if (to < minutesFrom) to = ceilHour(to);
  const [first, last] = [ceilHour(from), floorHour(to)];
  if (first >= last) return from < to ? [{ table: "minutes", from, to }] : [];
  const spans: Span[] = [
    { table: "minutes", from, to: first },
    { table: "hours", from: first, to: last },
    { table: "minutes", from: last, to },
  ];
  return spans.filter((span) => span.from < span.to);
}

/** Returns the parts of a time that a reader may see: all rows of all families, or those of its containers. */
export function* partsOf(
  { permitted, others }: Pick<UsageQuery, "permitted" | "others">,
  spans: readonly Span[],
  families: readonly Family[],
): Generator<Part> {
  const own = others !== "all" && others !== "none" ? families.find(({ name }) => name === others.family) : undefined;
  const ranges = permitted.includes("*") ? null : rangesOf(permitted);
  for (const { table, from, to } of spans) {
    if (ranges === null) {
      for (const { id } of families) {
        const hidden = others === "all" || own?.id === id ? "" : ` AND container <> '${OTHER}'`;
        yield { table, where: `family = ?${hidden}`, values: [id], key: ["at"], from: [from], to: [to] };
      }
      continue;
    }
    for (const [first, end] of ranges) {
      const key = ["container", "family", "at"];
      const where = "at >= ? AND at < ?";
      yield { table, where, values: [from, to], key, from: [first, 0, 0], to: [end, 0, 0] };
    }
    if (!own) continue;
    const where = "container = ? AND family = ?";
    yield { table, where, values: [OTHER, own.id], key: ["at"], from: [from], to: [to] };
  }
}

/** Returns the names that patterns match, as ranges without a common name: each count is read once. */
export function rangesOf(patterns: readonly string[]): [first: string, end: string][] {
  const all = patterns.map((pattern): [string, string] => {
    if (!pattern.endsWith("*")) return [pattern, `${pattern} `];
    const prefix = pattern.slice(0, -1);
    return [prefix === "" ? FIRST : prefix, prefix + LAST];
  });
  const ranges: [string, string][] = [];
  for (const [first, end] of all.toSorted(([a], [b]) => (a < b ? -1 : 1))) {
    const last = ranges.at(-1);
    if (last && first < last[1]) last[1] = end > last[1] ? end : last[1];
    else ranges.push([first, end]);
  }
  return ranges;
}

function floorHour(minute: number): number {
  return minute - (minute % HOUR);
}

function ceilHour(minute: number): number {
  return floorHour(minute + HOUR - 1);
}
