import { Slices } from "../../next-turn.ts";
import { ENDINGS } from "../../records/usage/columns.ts";
import type { UsageQuery, UsageRow } from "../../records/usage/usage.ts";

/** The type of the answer (RFC 4180). */
export const CSV_TYPE = "text/csv; charset=utf-8; header=present";

/** Characters at the start of a cell that make a spreadsheet evaluate it, and separators before which it skips. */
const FORMULA = /^[=+\-@\t\r]/;
const STATUSES = ["running", ...ENDINGS];

/** How rows are written as CSV. */
export interface CsvTable {
  readonly head: string;
  readonly line: (row: UsageRow) => string;
}

/**
 * Returns the columns of an answer: each status has one, and each code of a refusal that occurs in it.
 *
 * @param rows all rows of the answer.
 * @param holder the `holder` argument of `nextTurn`
 */
export async function csvTable(by: UsageQuery["by"], rows: readonly UsageRow[], holder: string): Promise<CsvTable> {
  const codes = await codesOf(rows, holder);
  const names = by === "container" ? [] : [by];
  const head = [
    ...["from", "container", ...names, "runs"],
    ...STATUSES.map((status) => `runs_${status}`),
    ...codes.map((code) => `refused_${code}`),
    ...["cpu_ms", "run_ms", "egress_bytes"],
  ];
  return {
    head: line(head),
    line: (row) => {
      const runs = Object.values(row.runs).reduce((sum, count) => sum + count, 0);
      return line([
        ...[row.from, row.container, ...names.map((name) => row[name] ?? ""), runs],
        ...STATUSES.map((status) => row.runs[status] ?? 0),
        // A code of another node may be a name that all objects have.
        ...codes.map((code) => (Object.hasOwn(row.refused, code) ? row.refused[code]! : 0)),
        ...[row.cpuMs, row.runMs, row.egressBytes],
      ]);
    },
  };
}

async function codesOf(rows: readonly UsageRow[], holder: string): Promise<string[]> {
  const slices = new Slices(holder);
  const codes = new Set<string>();
  for (const { refused } of rows) {
    if (slices.hasEnded) await slices.next();
    for (const code of Object.keys(refused)) codes.add(code);
  }
  return [...codes].toSorted();
}

function line(cells: readonly (string | number)[]): string {
  return `${cells.map(cell).join(",")}\r\n`;
}

/**
 * Writes a cell. A text that a spreadsheet would evaluate as a formula begins with an apostrophe, because strangers choose
 * names. A name of a container or task begins with a letter, a digit or `_`, so no such name is changed.
 */
export function cell(value: string | number): string {
  if (typeof value === "number") return String(value);
  const harmless = FORMULA.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless;
}
