import { existsSync } from "node:fs";
import { DatabaseSync, type StatementSync } from "node:sqlite";

import { COLUMNS } from "./columns.ts";
import { type Family, type Key, type Part, partsOf, spansOf } from "./read-parts.ts";
import { type SumRow, UsageSums } from "./usage-sums.ts";
import type { UsageAnswer, UsageQuery } from "./usage.ts";

/** The bounds of a read. */
export interface ReadBounds {
  /** The stored rows that one step looks at. A step does not split the counts of a family in a minute or an hour. */
  readonly stepRows: number;
  /** The time after which a step begins no other part. Reads of other families wait for it. */
  readonly stepMs: number;
  /** The rows of an answer. */
  readonly rows: number;
}

export const READ_BOUNDS: ReadBounds = { stepRows: 20_000, stepMs: 50, rows: 10_000 };

const STEP_MINUTES = { hour: 60, day: 24 * 60 };
const BUSY_TIMEOUT_MS = 2_000;
const SUMS = COLUMNS.map((column) => `SUM(${column})`).join(", ");

/**
 * A read of the counts, in steps. It has no bound that other families could use up: more rows take more steps, and reads of
 * other families go on in between.
 */
export class UsageRead {
  readonly #connection: DatabaseSync;
  readonly #query: UsageQuery;
  readonly #bounds: ReadBounds;
  readonly #sums: UsageSums;
  readonly #parts: Iterator<Part>;
  readonly #statements: Map<string, StatementSync> = new Map();
  /** The part that is being read, from this key on. */
  #at: { readonly part: Part; readonly from: Key } | null = null;

  /**
   * Opens the file. It is opened for each read, because the writer may have set a damaged file aside.
   *
   * @throws the error of SQLite.
   */
  constructor(file: string, query: UsageQuery, bounds: ReadBounds = READ_BOUNDS) {
    this.#connection = new DatabaseSync(file, { readOnly: true, timeout: BUSY_TIMEOUT_MS });
    this.#query = query;
    this.#bounds = bounds;
    this.#sums = new UsageSums(query.by, bounds.rows);
    try {
      // One transaction, so that no hour is tidied between two statements.
      this.#connection.exec("BEGIN");
      const families = this.#connection.prepare("SELECT id, name FROM families").all() as unknown as Family[];
      this.#parts = partsOf(query, spansOf(query, metaOf(this.#connection, "minutes_from")), families);
    } catch (error) {
      this.close();
      throw error;
    }
  }

  /** Reads further. @returns whether all is read. @throws the error of SQLite. */
  step(): boolean {
    const endMs = performance.now() + this.#bounds.stepMs;
    do {
      if (this.#at === null) {
        const next = this.#parts.next();
        if (next.done) return true;
        const from = this.#keyFrom(next.value, next.value.from, 0);
        if (from === null) continue;
        this.#at = { part: next.value, from };
      }
      const { part, from } = this.#at;
      const end = this.#endOf(part, from);
      this.#read(part, from, end);
      this.#at = end && { part, from: end };
    } while (performance.now() < endMs);
    return false;
  }

  /** Returns what was read. */
  answer(): UsageAnswer {
    return this.#sums.answer();
  }

  close(): void {
    this.#connection.close();
  }

  /** Returns the key before which a step ends; null if it reads the rest of the part. */
  #endOf(part: Part, from: Key): Key | null {
    const end = this.#keyFrom(part, from, this.#bounds.stepRows);
    const isSame = end?.every((value, index) => value === from[index]);
    return isSame ? this.#keyFrom(part, from, 0, ">") : end;
  }

  /** Returns the key of the row that is `offset` rows further; null if the part has no such row. */
  #keyFrom({ table, where, values, key, to }: Part, from: Key, offset: number, sign: ">=" | ">" = ">="): Key | null {
    const columns = key.join(", ");
    const sql = `
      SELECT ${columns} FROM ${table} WHERE ${where} AND (${columns}) ${sign} ${places(key)} AND (${columns}) < ${places(key)}
      ORDER BY ${columns} LIMIT 1 OFFSET ?`;
    const row = this.#prepare(sql).get(...values, ...from, ...to, offset);
    return row ? (Object.values(row) as (string | number)[]) : null;
  }

  #read({ table, where, values, key, to }: Part, from: Key, end: Key | null): void {
    const { by, step } = this.#query;
    const minutes = STEP_MINUTES[step];
    const columns = key.join(", ");
    const found = this.#prepare(`
      SELECT family, container, ${by === "container" ? "''" : by} AS name, (at / ${minutes}) * ${minutes} AS start, code, ${SUMS}
      FROM ${table} WHERE ${where} AND (${columns}) >= ${places(key)} AND (${columns}) < ${places(key)}
      GROUP BY 1, 2, 3, 4, 5`);
    for (const row of found.iterate(...values, ...from, ...(end ?? to))) this.#sums.add(Object.values(row) as SumRow);
  }

  /** Prepares each statement once: there may be many families. */
  #prepare(sql: string): StatementSync {
    let statement = this.#statements.get(sql);
    if (!statement) this.#statements.set(sql, (statement = this.#connection.prepare(sql)));
    return statement;
  }
}

/** Reads all at once. @throws the error of SQLite. */
export function readUsage(file: string, query: UsageQuery, bounds: ReadBounds = READ_BOUNDS): UsageAnswer {
  if (!existsSync(file)) return { rows: [], isTruncated: false };
  const read = new UsageRead(file, query, bounds);
  try {
    while (!read.step());
    return read.answer();
  } finally {
    read.close();
  }
}

function places(key: readonly string[]): string {
  return `(${key.map(() => "?").join(", ")})`;
}

function metaOf(connection: DatabaseSync, name: string): number {
  return Number(connection.prepare("SELECT value FROM meta WHERE name = ?").get(name)?.["value"] ?? 0);
}
