import type { SQLOutputValue } from "node:sqlite";

import { type Database, type DatabaseDefinition, openDatabase } from "../../database.ts";
import { isAboutValue } from "../sqlite-fault.ts";
import { publicPartOf, publicShare } from "./public-shares.ts";
import type { StoredRow } from "./stored-row.ts";
import type { Batch, BatchOutcome, Omission, OmissionBounds } from "./thread-messages.ts";

/** The version of the schema. A reader ignores a file without it, which is being created. */
export const SCHEMA_VERSION = 1;
/** The bytes that a row takes in the database and in its log together, for each byte of the row. */
const BYTES_ON_DISK = 2;

/*
 * `detail` is last: SQLite reads a row up to the last column that is needed, and most reads need no console. The log is
 * short, because its bytes count for the size of all records, and a checkpoint that waits for no disk costs little.
 */
const SCHEMA = `
  PRAGMA wal_autocheckpoint = 128;
  PRAGMA journal_size_limit = 524288;
  CREATE TABLE IF NOT EXISTS runs (
    id INTEGER PRIMARY KEY, started_ms INTEGER NOT NULL, run TEXT NOT NULL UNIQUE, container TEXT NOT NULL, task TEXT,
    status TEXT NOT NULL, failed INTEGER NOT NULL, lineage TEXT NOT NULL, entry TEXT NOT NULL, detail TEXT
  ) STRICT;
  CREATE INDEX IF NOT EXISTS runs_by_start ON runs (started_ms, run);
  CREATE INDEX IF NOT EXISTS runs_by_container ON runs (container, started_ms, run);
  CREATE INDEX IF NOT EXISTS failures_by_start ON runs (started_ms, run) WHERE failed = 1;
  CREATE INDEX IF NOT EXISTS failures_by_container ON runs (container, started_ms, run) WHERE failed = 1;
  CREATE TABLE IF NOT EXISTS families (family TEXT PRIMARY KEY, bytes INTEGER NOT NULL) STRICT, WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS omitted (
    family TEXT NOT NULL, container TEXT NOT NULL, count INTEGER NOT NULL, PRIMARY KEY (family, container)
  ) STRICT, WITHOUT ROWID;
`;

const STATEMENTS = {
  // A batch that is sent again, because the answer to it was lost, changes nothing.
  add: `INSERT OR IGNORE INTO runs (started_ms, run, container, task, status, failed, lineage, entry, detail)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  used: "SELECT bytes FROM families WHERE family = ?",
  setUsed: "INSERT INTO families (family, bytes) VALUES (?, ?) ON CONFLICT DO UPDATE SET bytes = excluded.bytes",
  addOmitted: "UPDATE omitted SET count = count + ?3 WHERE family = ?1 AND container = ?2",
  omit: "INSERT INTO omitted (family, container, count) VALUES (?, ?, ?)",
  omittedContainers: "SELECT count(*) AS count FROM omitted WHERE family = ?",
  omissions: "SELECT count(*) AS count FROM omitted",
};

type Statement = keyof typeof STATEMENTS;

const DEFINITION: DatabaseDefinition<Statement> = {
  version: SCHEMA_VERSION,
  content: "the records of runs",
  remedy: "delete the file",
  schema: SCHEMA,
  statements: STATEMENTS,
  mayLose: true,
  hasOwnThread: true,
};

/** How much a batch may write. */
export interface Room {
  /** The most bytes of a family in the file. */
  readonly familyBytes: number;
  /** The bytes until the file has its largest size. */
  readonly fileBytes: number;
  /** The time of `performance.now()` at which the batch ends early. */
  readonly endMs: number;
  readonly omissions: OmissionBounds;
}

/** The database of a day, open for its only writer. */
export class DayFile {
  readonly #database: Database<Statement>;
  readonly #statements: Database<Statement>["statements"];
  /** The rows in the count of omissions. */
  #omissions: number;

  /** @throws {Error} if the file cannot be used. */
  static open(file: string): DayFile {
    return openDatabase(file, DEFINITION, (database) => new DayFile(database));
  }

  private constructor(database: Database<Statement>) {
    this.#database = database;
    this.#statements = database.statements;
    this.#omissions = countOf(this.#statements.omissions.get());
  }

  /** Writes a batch in one transaction. @throws the error of SQLite; the batch is then not written. */
  write({ rows, omissions }: Batch, room: Room): Omit<BatchOutcome, "isNew"> {
    return this.#database.transaction(() => {
      const usage = new FamilyUsage(this.#statements, room);
      const omitted: Omission[] = [];
      let dropped = 0;
      let done = 0;
      for (const row of rows) {
        // Not before the first row: each batch must bring its rows further.
        if (done > 0 && performance.now() > room.endMs) break;
        done += 1;
        const [, , container, , , , , , , family, bytes, isPublic] = row;
        if (usage.fits(family, bytes, isPublic)) {
          const added = this.#add(row);
          if (added === null) dropped += 1;
          else if (added) usage.add(family, bytes, isPublic);
        } else omitted.push([family, container, 1]);
      }
      usage.save();
      for (const omission of [...omissions, ...omitted]) this.#omit(omission, room.omissions);
      return { rows: done, omitted: omitted.length, dropped, full: [...usage.full] };
    });
  }

  close(): void {
    this.#database.close();
  }

  /** @returns false if the run is already there, null if SQLite cannot store the row. */
  #add([startedMs, run, container, task, status, failed, lineage, entry, detail]: StoredRow): boolean | null {
    try {
      const { add } = this.#statements;
      return add.run(startedMs, run, container, task, status, failed, lineage, entry, detail).changes === 1;
    } catch (error) {
      if (isAboutValue(error)) return null;
      throw error;
    }
  }

  #omit([family, container, count]: Omission, { ofAll, ofFamily }: OmissionBounds): void {
    const { addOmitted, omit, omittedContainers } = this.#statements;
    if (addOmitted.run(family, container, count).changes === 1) return;
    // However many rows there are, each family has a row for its other containers, so that its total is complete.
    const isListed = this.#omissions < ofAll && countOf(omittedContainers.get(family)) < ofFamily;
    if (!isListed && addOmitted.run(family, "", count).changes === 1) return;
    omit.run(family, isListed ? container : "", count);
    this.#omissions += 1;
  }
}

function countOf(row: Record<string, SQLOutputValue> | undefined): number {
  return Number(row?.["count"] ?? 0);
}

/** The bytes that families use of a file, during one transaction. */
class FamilyUsage {
  /** The families that have used their quota, and the public parts of families that are used up. */
  readonly full = new Set<string>();
  readonly #statements: Database<Statement>["statements"];
  readonly #familyBytes: number;
  readonly #bytes = new Map<string, number>();
  #fileBytes: number;

  constructor(statements: Database<Statement>["statements"], { familyBytes, fileBytes }: Room) {
    this.#statements = statements;
    this.#familyBytes = familyBytes;
    this.#fileBytes = fileBytes;
  }

  fits(family: string, bytes: number, isPublic: 0 | 1): boolean {
    if (this.#isOver(family, bytes, this.#familyBytes)) return false;
    if (isPublic && this.#isOver(publicPartOf(family), bytes, publicShare(this.#familyBytes))) return false;
    return bytes * BYTES_ON_DISK <= this.#fileBytes;
  }

  add(family: string, bytes: number, isPublic: 0 | 1): void {
    const names = isPublic ? [family, publicPartOf(family)] : [family];
    for (const name of names) this.#bytes.set(name, this.#used(name) + bytes);
    this.#fileBytes -= bytes * BYTES_ON_DISK;
  }

  save(): void {
    for (const [family, bytes] of this.#bytes) if (bytes > 0) this.#statements.setUsed.run(family, bytes);
  }

  #isOver(name: string, bytes: number, most: number): boolean {
    if (this.#used(name) + bytes <= most) return false;
    this.full.add(name);
    return true;
  }

  #used(family: string): number {
    let bytes = this.#bytes.get(family);
    if (bytes === undefined) {
      bytes = Number(this.#statements.used.get(family)?.["bytes"] ?? 0);
      this.#bytes.set(family, bytes);
    }
    return bytes;
  }
}
