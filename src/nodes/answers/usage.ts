import { z } from "zod";

import { Slices } from "../../next-turn.ts";
import { READ_BOUNDS } from "../../records/usage/usage-reader.ts";
import type { UsageQuery, UsageRow } from "../../records/usage/usage.ts";
import type { AnswerReader } from "../ask-node.ts";
import { type AnswerKind, foreign, writeLines } from "./kind.ts";

type Rows = readonly UsageRow[];

/** Counts of runs. Merged rows may be more than a read may return; then the rows of some nodes are left out. */
export function usageRows({ by }: Pick<UsageQuery, "by">): AnswerKind<Rows> {
  return {
    write: (rows, family) => writeLines([...rows, { rows: rows.length }], family),
    newReader: () => new RowsReader(by),
    merge: (parts, family) => mergeRows(parts, by, family),
  };
}

const counts = z.record(z.string(), z.number().nonnegative());
const row: z.ZodType<UsageRow> = z.strictObject({
  container: z.string(),
  task: z.exactOptional(z.string().nullable()),
  token: z.exactOptional(z.string().nullable()),
  from: z.iso.datetime(),
  ...{ runs: counts, refused: counts, durations: counts },
  ...{ cpuMs: z.number().nonnegative(), runMs: z.number().nonnegative(), egressBytes: z.number().nonnegative() },
});
const endLine = z.strictObject({ rows: z.int() });

class RowsReader implements AnswerReader<Rows> {
  readonly #by: UsageQuery["by"];
  readonly #rows: UsageRow[] = [];
  #isComplete = false;

  constructor(by: UsageQuery["by"]) {
    this.#by = by;
  }

  line(value: unknown): void {
    if (this.#isComplete || typeof value !== "object" || value === null) throw foreign();
    if ("rows" in value) {
      if (endLine.parse(value).rows !== this.#rows.length) throw foreign();
      this.#isComplete = true;
      return;
    }
    const read = row.parse(value);
    const last = this.#rows.at(-1);
    // The merge requires the order of a single node.
    if (last && compare(last, read, this.#by) >= 0) throw foreign();
    this.#rows.push(read);
  }

  end(): Rows {
    if (!this.#isComplete) throw foreign();
    return this.#rows;
  }
}

/** Merges parts two by two: to sort thousands of rows at once would take tens of milliseconds in one turn. */
async function mergeRows(parts: readonly Rows[], by: UsageQuery["by"], family: string): Promise<Rows> {
  const slices = new Slices(family);
  let merged: Rows = [];
  for (const part of parts) {
    if (merged.length > READ_BOUNDS.rows) break;
    const before = merged;
    const rows: UsageRow[] = [];
    for (let [a, b] = [0, 0]; a < before.length || b < part.length;) {
      if (slices.hasEnded) await slices.next();
      const [left, right] = [before[a], part[b]];
      const order = left && right ? compare(left, right, by) : left ? -1 : 1;
      rows.push(order === 0 ? sum(left!, right!) : order < 0 ? left! : right!);
      if (order <= 0) a += 1;
      if (order >= 0) b += 1;
    }
    merged = rows;
  }
  return merged;
}

/** The order of the rows of a single node: by time, container and name. */
function compare(a: UsageRow, b: UsageRow, by: UsageQuery["by"]): number {
  if (a.from !== b.from) return a.from < b.from ? -1 : 1;
  if (a.container !== b.container) return a.container < b.container ? -1 : 1;
  if (by === "container") return 0;
  const [left, right] = [a[by] ?? "", b[by] ?? ""];
  return left < right ? -1 : left > right ? 1 : 0;
}

function sum(a: UsageRow, b: UsageRow): UsageRow {
  return {
    ...a,
    runs: sumCounts(a.runs, b.runs),
    refused: sumCounts(a.refused, b.refused),
    cpuMs: rounded(a.cpuMs + b.cpuMs),
    runMs: rounded(a.runMs + b.runMs),
    egressBytes: a.egressBytes + b.egressBytes,
    durations: sumCounts(a.durations, b.durations),
  };
}

function sumCounts(a: Readonly<Record<string, number>>, b: Readonly<Record<string, number>>): Record<string, number> {
  const sums = new Map(Object.entries(a));
  for (const [name, count] of Object.entries(b)) sums.set(name, (sums.get(name) ?? 0) + count);
  return Object.fromEntries(sums);
}

/** Without the digits that sums of binary fractions add. */
function rounded(ms: number): number {
  return Math.round(ms * 1_000) / 1_000;
}
