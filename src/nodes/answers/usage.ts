import { z } from "zod";

import { PROBLEMS } from "../../error-codes.ts";
import { Slices } from "../../next-turn.ts";
import { READ_BOUNDS } from "../../records/usage/usage-reader.ts";
import { OTHER, type UsageAnswer, type UsageQuery, type UsageRow } from "../../records/usage/usage.ts";
import type { AnswerReader } from "../ask-node.ts";
import { type AnswerKind, foreign, writeLines } from "./kind.ts";

type Rows = readonly UsageRow[];

/** Counts of runs. If the merged rows are more than an answer has, those with the fewest requests are added up. */
export function usageRows({ by }: Pick<UsageQuery, "by">, most: number = READ_BOUNDS.rows): AnswerKind<UsageAnswer> {
  return {
    write: async (answer, family) => {
      const { rows, isTruncated } = await fitUsage(answer, by, MAX_PART_BYTES, family);
      return writeLines([...rows, { rows: rows.length, truncated: isTruncated }], family);
    },
    newReader: () => new RowsReader(by),
    merge: (parts, family) => mergeAnswers(parts, by, most, family),
  };
}

/** The most bytes of the rows of a node. The node that asks for a family keeps 24 MiB of answers until it has merged them. */
const MAX_PART_BYTES = 6 * 2 ** 20;
/** No row is as long as this: two names, and counts of each status, code and duration. */
const MAX_ROW_BYTES = 8_192;
/** Rows differ in length, so fewer stay than fit on average. */
const FITTING = 0.9;
/** The most rows that are read from one node. A node sends half as many, with those for all further names. */
const MAX_ROWS = 2 * READ_BOUNDS.rows;
/** The names of counts that this node does not have, from a node of another version. A table has a column for each. */
const MAX_NEW_NAMES = 16;
const KNOWN_CODES: ReadonlySet<string> = new Set(Object.keys(PROBLEMS));
const MAX_NAMES = KNOWN_CODES.size + MAX_NEW_NAMES;

const counts = z
  .record(z.string().regex(/^[a-z0-9]\w{0,63}$/), z.number().nonnegative())
  .refine((each) => Object.keys(each).length <= MAX_NAMES);
const row: z.ZodType<UsageRow> = z.strictObject({
  container: z.string(),
  task: z.exactOptional(z.string().nullable()),
  token: z.exactOptional(z.string().nullable()),
  from: z.iso.datetime(),
  ...{ runs: counts, refused: counts, durations: counts },
  ...{ cpuMs: z.number().nonnegative(), runMs: z.number().nonnegative(), egressBytes: z.number().nonnegative() },
});
const endLine = z.strictObject({ rows: z.int(), truncated: z.boolean() });

class RowsReader implements AnswerReader<UsageAnswer> {
  readonly #by: UsageQuery["by"];
  readonly #rows: UsageRow[] = [];
  readonly #newNames = new Set<string>();
  #isComplete = false;
  #isTruncated = false;

  constructor(by: UsageQuery["by"]) {
    this.#by = by;
  }

  line(value: unknown): void {
    if (this.#isComplete || typeof value !== "object" || value === null) throw foreign();
    if ("rows" in value) {
      const { rows, truncated } = endLine.parse(value);
      if (rows !== this.#rows.length) throw foreign();
      this.#isTruncated = truncated;
      this.#isComplete = true;
      return;
    }
    const read = row.parse(value);
    const last = this.#rows.at(-1);
    // The merge requires the order of a single node.
    if (last && compare(last, read, this.#by) >= 0) throw foreign();
    for (const code of Object.keys(read.refused)) if (!KNOWN_CODES.has(code)) this.#newNames.add(code);
    if (this.#newNames.size > MAX_NEW_NAMES || this.#rows.length === MAX_ROWS) throw foreign();
    this.#rows.push(read);
  }

  end(): UsageAnswer {
    if (!this.#isComplete) throw foreign();
    return { rows: this.#rows, isTruncated: this.#isTruncated };
  }
}

/** Merges parts two by two: to sort thousands of rows at once would take tens of milliseconds in one turn. */
async function mergeAnswers(
  parts: readonly UsageAnswer[],
  by: UsageQuery["by"],
  most: number,
  family: string,
): Promise<UsageAnswer> {
  const slices = new Slices(family);
  let merged: Rows = [];
  let isTruncated = false;
  for (const part of parts) {
    isTruncated ||= part.isTruncated;
    merged = await mergeRows(merged, part.rows, by, slices);
    if (merged.length <= most) continue;
    isTruncated = true;
    merged = await addUp(merged, by, most, slices);
  }
  return { rows: merged, isTruncated };
}

async function mergeRows(before: Rows, part: Rows, by: UsageQuery["by"], slices: Slices): Promise<Rows> {
  const rows: UsageRow[] = [];
  for (let [a, b] = [0, 0]; a < before.length || b < part.length;) {
    if (slices.hasEnded) await slices.next();
    const [left, right] = [before[a], part[b]];
    const order = left && right ? compare(left, right, by) : left ? -1 : 1;
    rows.push(order === 0 ? sum(left!, right!) : order < 0 ? left! : right!);
    if (order <= 0) a += 1;
    if (order >= 0) b += 1;
  }
  return rows;
}

/**
 * Returns an answer whose rows have at most so many bytes of JSON. The rows with the fewest requests are added up as `OTHER`.
 *
 * @param family the token family that reads
 */
export async function fitUsage(
  answer: UsageAnswer,
  by: UsageQuery["by"],
  mostBytes: number,
  family: string,
): Promise<UsageAnswer> {
  const slices = new Slices(family);
  let { rows } = answer;
  while (rows.length * MAX_ROW_BYTES > mostBytes) {
    let bytes = 0;
    for (const each of rows) {
      if (slices.hasEnded) await slices.next();
      bytes += Buffer.byteLength(JSON.stringify(each)) + 1;
    }
    if (bytes <= mostBytes) break;
    const fewer = Math.floor(((rows.length * mostBytes) / bytes) * FITTING);
    const left: Rows = await addUp(rows, by, fewer, slices);
    // Each step keeps one row.
    if (left.length === rows.length) break;
    rows = left;
  }
  return rows === answer.rows ? answer : { rows, isTruncated: true };
}

/** Adds up the rows with the fewest requests as `OTHER`, until so many rows are left. */
async function addUp(rows: Rows, by: UsageQuery["by"], most: number, slices: Slices): Promise<Rows> {
  // By the number of binary digits of their requests: to sort them would take too long for one turn.
  const byDigits: number[] = [];
  const steps = new Set<string>();
  for (const each of rows) {
    if (slices.hasEnded) await slices.next();
    steps.add(each.from);
    if (!isOther(each, by)) byDigits[digitsOf(each)] = (byDigits[digitsOf(each)] ?? 0) + 1;
  }
  let places = Math.max(0, most - steps.size);
  let least = byDigits.length;
  while (least > 0 && (byDigits[least - 1] ?? 0) <= places) places -= byDigits[--least] ?? 0;
  const others = new Map<string, UsageRow>();
  const named: UsageRow[] = [];
  for (const each of rows) {
    if (slices.hasEnded) await slices.next();
    const digits = isOther(each, by) ? -1 : digitsOf(each);
    if (digits >= least || (digits >= 0 && digits === least - 1 && places-- > 0)) named.push(each);
    else {
      const other = { ...each, container: OTHER, ...(by !== "container" && { [by]: OTHER }) };
      const known = others.get(each.from);
      others.set(each.from, known ? sum(known, other) : other);
    }
  }
  // `OTHER` is before all names of containers, so both are in order.
  return mergeRows(named, [...others.values()], by, slices);
}

function isOther(each: UsageRow, by: UsageQuery["by"]): boolean {
  return each.container === OTHER && (by === "container" || each[by] === OTHER);
}

function digitsOf({ runs, refused }: UsageRow): number {
  let requests = 0;
  for (const group of [runs, refused]) for (const count of Object.values(group)) requests += count;
  return 32 - Math.clz32(requests);
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
