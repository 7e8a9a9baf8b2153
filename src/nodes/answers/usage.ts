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
    newReader: () => new RowsReader(),
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
  readonly #rows: UsageRow[] = [];
  #isComplete = false;

  line(value: unknown): void {
    if (this.#isComplete) throw foreign();
    const end = endLine.safeParse(value);
    if (end.success) this.#isComplete = end.data.rows === this.#rows.length;
    else this.#rows.push(row.parse(value));
  }

  end(): Rows {
    if (!this.#isComplete) throw foreign();
    return this.#rows;
  }
}

async function mergeRows(parts: readonly Rows[], by: UsageQuery["by"], family: string): Promise<Rows> {
  const slices = new Slices(family);
  const nameOf = (each: UsageRow): string => (by === "container" ? "" : (each[by] ?? ""));
  const rows = new Map<string, UsageRow>();
  for (const part of parts) {
    if (rows.size > READ_BOUNDS.rows) break;
    for (const each of part) {
      if (slices.hasEnded) await slices.next();
      const key = `${each.from}\n${each.container}\n${nameOf(each)}`;
      const known = rows.get(key);
      rows.set(key, known ? sum(known, each) : each);
    }
  }
  return [...rows].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, each]) => each);
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
