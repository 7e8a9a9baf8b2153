import { existsSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";

import { COLUMNS, CPU_MS, durationsOf, EGRESS_BYTES, REFUSED, RUN_MS, runsOf } from "./columns.ts";
import { OTHER, type UsageQuery, type UsageRow } from "./usage.ts";

/** The bounds of a read. */
export interface ReadBounds {
  /** The stored rows that a read looks at. */
  readonly looked: number;
  /** The rows of an answer. */
  readonly rows: number;
}

export const READ_BOUNDS: ReadBounds = { looked: 200_000, rows: 10_000 };

/** What a read found, or which bound it would exceed. */
export type UsageFound =
  | { readonly rows: readonly UsageRow[] }
  | { readonly exceeded: keyof ReadBounds; readonly most: number };

/** A part of the time of a query: `at` from the first minute, before the last. */
interface Span {
  readonly table: "minutes" | "hours";
  readonly from: number;
  readonly to: number;
}

interface Sum {
  readonly container: string;
  readonly name: string;
  readonly start: number;
  readonly numbers: number[];
  readonly refused: Record<string, number>;
}

const MINUTE_MS = 60_000;
const HOUR = 60;
const STEP_MINUTES = { hour: HOUR, day: 24 * HOUR };
const BUSY_TIMEOUT_MS = 2_000;
const SUMS = COLUMNS.map((column) => `SUM(${column})`).join(", ");

/**
 * Reads counts from the file. It is opened for each read, because the writer may have set a damaged file aside.
 *
 * @throws the error of SQLite.
 */
export function readUsage(file: string, query: UsageQuery, bounds: ReadBounds = READ_BOUNDS): UsageFound {
  if (!existsSync(file)) return { rows: [] };
  const connection = new DatabaseSync(file, { readOnly: true, timeout: BUSY_TIMEOUT_MS });
  try {
    // One transaction, so that no hour is tidied between two statements.
    connection.exec("BEGIN");
    return readIn(connection, query, bounds);
  } finally {
    connection.close();
  }
}

function readIn(connection: DatabaseSync, query: UsageQuery, bounds: ReadBounds): UsageFound {
  const spans = spansOf(query, metaOf(connection, "minutes_from"));
  const families = connection.prepare("SELECT id, name FROM families").all() as { id: number; name: string }[];
  let left = bounds.looked;
  const parts = spans.flatMap((span) => families.map((family) => ({ span, family })));
  for (const { span, family } of parts) {
    left -= countRows(connection, span, family.id, left + 1);
    if (left < 0) return { exceeded: "looked", most: bounds.looked };
  }
  const sums = new Map<string, Sum>();
  const patterns = query.permitted.includes("*") ? null : query.permitted;
  connection.function("permitted", { deterministic: true }, (container) => permits(patterns, String(container)));
  for (const { span, family } of parts) {
    const seesOthers =
      query.others === "all" || (query.others !== "none" && query.others.family === family.name) ? 1 : 0;
    const found = connection.prepare(selectOf(query, span)).iterate(family.id, span.from, span.to, seesOthers);
    for (const row of found) add(sums, Object.values(row));
    if (sums.size > bounds.rows) return { exceeded: "rows", most: bounds.rows };
  }
  return { rows: [...sums.values()].toSorted(inOrder).map((sum) => rowOf(sum, query.by)) };
}

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

function countRows(connection: DatabaseSync, { table, from, to }: Span, family: number, most: number): number {
  const sql = `SELECT COUNT(*) AS rows FROM (SELECT 1 FROM ${table} WHERE family = ? AND at >= ? AND at < ? LIMIT ?)`;
  return (connection.prepare(sql).get(family, from, to, most) as { rows: number }).rows;
}

function selectOf({ by, step }: UsageQuery, { table }: Span): string {
  const minutes = STEP_MINUTES[step];
  return `
    SELECT container, ${by === "container" ? "''" : by} AS name, (at / ${minutes}) * ${minutes} AS start, code, ${SUMS}
    FROM ${table} WHERE family = ? AND at >= ? AND at < ?
    AND CASE container WHEN '${OTHER}' THEN ? ELSE permitted(container) END
    GROUP BY 1, 2, 3, 4`;
}

function add(sums: Map<string, Sum>, values: unknown[]): void {
  const [container, name, start, code] = values as [string, string, number, string];
  const numbers = values.slice(4) as number[];
  // A name has no line break.
  const key = `${start}\n${container}\n${name}`;
  let sum = sums.get(key);
  if (!sum) sums.set(key, (sum = { container, name, start, numbers: numbers.map(() => 0), refused: {} }));
  for (const [index, number] of numbers.entries()) sum.numbers[index]! += number;
  if (code !== "") sum.refused[code] = (sum.refused[code] ?? 0) + numbers[REFUSED]!;
}

function rowOf({ container, name, start, numbers, refused }: Sum, by: UsageQuery["by"]): UsageRow {
  return {
    container,
    ...(by !== "container" && { [by]: name === "" ? null : name }),
    from: new Date(start * MINUTE_MS).toISOString(),
    runs: runsOf(numbers),
    refused,
    cpuMs: rounded(numbers[CPU_MS]!),
    runMs: rounded(numbers[RUN_MS]!),
    egressBytes: numbers[EGRESS_BYTES]!,
    durations: durationsOf(numbers),
  };
}

function inOrder(a: Sum, b: Sum): number {
  return a.start - b.start || compare(a.container, b.container) || compare(a.name, b.name);
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** @param patterns null if all containers are permitted. */
function permits(patterns: readonly string[] | null, container: string): number {
  if (patterns === null) return 1;
  for (const pattern of patterns) {
    if (pattern.endsWith("*") ? container.startsWith(pattern.slice(0, -1)) : container === pattern) return 1;
  }
  return 0;
}

function metaOf(connection: DatabaseSync, name: string): number {
  return Number(connection.prepare("SELECT value FROM meta WHERE name = ?").get(name)?.["value"] ?? 0);
}

/** Without the digits that sums of binary fractions add. */
function rounded(ms: number): number {
  return Math.round(ms * 1_000) / 1_000;
}

function floorHour(minute: number): number {
  return minute - (minute % HOUR);
}

function ceilHour(minute: number): number {
  return floorHour(minute + HOUR - 1);
}
