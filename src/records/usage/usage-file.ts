import { closeSync, constants, mkdirSync, openSync } from "node:fs";
import path from "node:path";
import { DatabaseSync, type StatementSync } from "node:sqlite";

import { beginVersion, NewerVersion, setVersion } from "../../database.ts";
import type { CellBatch } from "./cell.ts";
import { COLUMNS, WIDTH } from "./columns.ts";

/** The milliseconds that a change waits for a reader that holds a lock. Readers hold locks for less. */
const BUSY_TIMEOUT_MS = 5_000;
/** The version of the format. A new column needs no new version, because an earlier release adds nothing to it. */
export const USAGE_VERSION = 1;
const HOUR_MINUTES = 60;
const TEXTS = 5;
const KEY = "family, at, container, token, task, code";
const INTEGER_COLUMNS = new Set(COLUMNS.filter((name) => !name.endsWith("_ms")));

/** Returns the path of the counts in a data folder. */
export function usageFile(folder: string): string {
  return path.join(folder, "runs", "usage.sqlite");
}

/** Names the batches of one process, so that a batch that is sent twice is counted once. */
export interface BatchNumber {
  /** A random name of the process of the service. */
  readonly process: string;
  /** From 1. Each batch is sent until it is acknowledged. */
  readonly number: number;
}

/**
 * The file of the counts: each count is in a row of its minute and in a row of its hour. Minutes are deleted after some time,
 * and hours answer for them. `at` is in minutes since 1970 in both tables. Administrators read by family, and tokens by
 * container: the rows of containers that a token may not see cost its read nothing.
 *
 * `synchronous = NORMAL` syncs the write-ahead log only when it is copied into the file, so a loss of power costs the last
 * seconds, but does not damage the counts of a year.
 */
export class UsageFile {
  readonly connection: DatabaseSync;
  readonly #process: string;
  readonly #families: Map<string, number> = new Map();
  readonly #addMinute: StatementSync;
  readonly #addHour: StatementSync;

  /**
   * Opens or creates the file. Runs of an earlier process that have not ended become `interrupted`.
   *
   * @param process the random name of this process. Only one process may use the file, which the data folder's lock ensures.
   * @throws the error of SQLite or of the system.
   */
  static open(file: string, process: string, nowMs: number): UsageFile {
    mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 });
    // SQLite gives its other files the mode of this file.
    closeSync(openSync(file, constants.O_RDWR | constants.O_CREAT, 0o600));
    const connection = new DatabaseSync(file, { timeout: BUSY_TIMEOUT_MS });
    try {
      return new UsageFile(connection, process, nowMs);
    } catch (error) {
      connection.close();
      if (error instanceof NewerVersion) throw error.about("the counts of runs", file);
      throw error;
    }
  }

  private constructor(connection: DatabaseSync, process: string, nowMs: number) {
    this.connection = connection;
    this.#process = process;
    beginVersion(connection, USAGE_VERSION);
    connection.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA journal_size_limit = 16777216");
    this.transaction(() => {
      connection.exec(SCHEMA);
      for (const name of TABLES) addColumns(connection, name);
      setVersion(connection, USAGE_VERSION);
      this.#beginProcess(Math.floor(nowMs / 60_000));
    });
    this.#addMinute = connection.prepare(upsert("minutes"));
    this.#addHour = connection.prepare(upsert("hours"));
    for (const { id, name } of connection.prepare("SELECT id, name FROM families").all()) {
      this.#families.set(String(name), Number(id));
    }
  }

  /** Adds the counts of a batch, unless the file has them already. */
  add({ texts, numbers }: CellBatch, { number }: BatchNumber): void {
    this.transaction(() => {
      if (number <= this.meta("batch")) return;
      this.setMeta("batch", number);
      const minutesFrom = this.meta("minutes_from");
      const cells = texts.length / TEXTS;
      for (let cell = 0; cell < cells; cell++) {
        const [family, ...names] = texts.slice(cell * TEXTS, (cell + 1) * TEXTS);
        const [minute, ...counts] = numbers.subarray(cell * (WIDTH + 1), (cell + 1) * (WIDTH + 1));
        const id = this.#familyId(family!);
        if (minute! >= minutesFrom) this.#addMinute.run(id, minute!, ...names, ...counts);
        this.#addHour.run(id, minute! - (minute! % HOUR_MINUTES), ...names, ...counts);
      }
    });
  }

  /** @returns 0 for a value that was not set. */
  meta(name: string): number {
    return Number(this.connection.prepare("SELECT value FROM meta WHERE name = ?").get(name)?.["value"] ?? 0);
  }

  setMeta(name: string, value: number | string): void {
    this.connection.prepare("INSERT OR REPLACE INTO meta (name, value) VALUES (?, ?)").run(name, value);
  }

  transaction<T>(change: () => T): T {
    this.connection.exec("BEGIN IMMEDIATE");
    try {
      const outcome = change();
      this.connection.exec("COMMIT");
      return outcome;
    } catch (error) {
      // A family that was added in this transaction has no id any more.
      this.#families.clear();
      // SQLite itself ends the transaction after some errors, such as a full disk.
      if (this.connection.isTransaction) this.connection.exec("ROLLBACK");
      throw error;
    }
  }

  close(): void {
    if (this.connection.isOpen) this.connection.close();
  }

  #beginProcess(minute: number): void {
    const last = this.connection.prepare("SELECT value FROM meta WHERE name = 'process'").get()?.["value"];
    if (last === this.#process) return;
    for (const name of TABLES) {
      // The index has only the rows of runs that have not ended, so this takes no time after years of runs.
      this.connection.exec(`
        UPDATE ${name} INDEXED BY ${name}_unended
        SET ended_interrupted = ended_interrupted + admitted - ended, ended = admitted WHERE admitted > ended`);
    }
    this.setMeta("process", this.#process);
    this.setMeta("batch", 0);
    // A new file has no earlier minutes.
    if (last === undefined) this.setMeta("minutes_from", minute - (minute % HOUR_MINUTES));
  }

  #familyId(name: string): number {
    const known = this.#families.get(name);
    if (known !== undefined) return known;
    this.connection.prepare("INSERT INTO families (name) VALUES (?) ON CONFLICT DO NOTHING").run(name);
    const id = Number(this.connection.prepare("SELECT id FROM families WHERE name = ?").get(name)!["id"]);
    this.#families.set(name, id);
    return id;
  }
}

const TABLES = ["minutes", "hours"] as const;

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value ANY) STRICT, WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS families (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE) STRICT;
  ${TABLES.map(table).join("\n")}
`;

function table(name: string): string {
  return `
    CREATE TABLE IF NOT EXISTS ${name} (
      family INTEGER NOT NULL, at INTEGER NOT NULL, container TEXT NOT NULL, token TEXT NOT NULL, task TEXT NOT NULL,
      code TEXT NOT NULL, ${COLUMNS.map(column).join(", ")}, PRIMARY KEY (${KEY})
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX IF NOT EXISTS ${name}_unended ON ${name} (family, at) WHERE admitted > ended;
    CREATE INDEX IF NOT EXISTS ${name}_containers ON ${name} (container, family, at);`;
}

function column(name: string): string {
  return `${name} ${INTEGER_COLUMNS.has(name) ? "INTEGER" : "REAL"} NOT NULL DEFAULT 0`;
}

/** Adds the columns that a file of an earlier version does not have, such as that of a new status. */
function addColumns(connection: DatabaseSync, name: string): void {
  const known = new Set(
    connection
      .prepare(`PRAGMA table_info(${name})`)
      .all()
      .map((row) => row["name"]),
  );
  for (const each of COLUMNS) if (!known.has(each)) connection.exec(`ALTER TABLE ${name} ADD COLUMN ${column(each)}`);
}

function upsert(name: string): string {
  const values = Array.from({ length: KEY.split(",").length + WIDTH }, () => "?").join(", ");
  const sums = COLUMNS.map((each) => `${each} = ${each} + excluded.${each}`).join(", ");
  return `INSERT INTO ${name} (${KEY}, ${COLUMNS.join(", ")}) VALUES (${values}) ON CONFLICT (${KEY}) DO UPDATE SET ${sums}`;
}
