import { closeSync, constants, openSync } from "node:fs";
import { resolve } from "node:path";
import { DatabaseSync, type StatementSync } from "node:sqlite";

/**
 * How long a change waits for another process that has the database locked, for one insert. A longer wait would stop the
 * service, whose one thread waits here.
 */
const BUSY_TIMEOUT_MS = 2_000;

/** One database of the data folder: what it keeps, and the SQL of the store that it belongs to. */
export interface DatabaseDefinition<Name extends string> {
  /** What the database keeps, as the subject of an error: `the named tasks`. */
  readonly content: string;
  /** What the operator can do about a database that cannot be used. */
  readonly remedy: string;
  readonly schema: string;
  readonly statements: Readonly<Record<Name, string>>;
  /** SQLite overwrites what is deleted. */
  readonly secureDelete?: boolean;
}

/**
 * An open SQLite database and its prepared statements.
 *
 * A change waits for the disk (`synchronous = FULL`): its caller answers with it. With a write-ahead log, `NORMAL` survives
 * a killed process but not a power failure (https://sqlite.org/pragma.html#pragma_synchronous).
 */
export class Database<Name extends string> {
  readonly statements: Readonly<Record<Name, StatementSync>>;
  readonly #connection: DatabaseSync;

  constructor(connection: DatabaseSync, { schema, statements, secureDelete }: DatabaseDefinition<Name>) {
    this.#connection = connection;
    connection.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL");
    if (secureDelete) connection.exec("PRAGMA secure_delete = ON");
    connection.exec(schema);
    const prepared = Object.entries<string>(statements).map(([name, sql]) => [name, connection.prepare(sql)]);
    this.statements = Object.fromEntries(prepared) as Record<Name, StatementSync>;
  }

  get isOpen(): boolean {
    return this.#connection.isOpen;
  }

  /**
   * Makes a change in a transaction, which other processes see whole or not at all.
   *
   * @param commits decides by what `change` returned whether the change stays. Without it, the change stays.
   * @throws whatever `change` throws, after the change is undone, and SQLite's errors.
   */
  transaction<T>(change: () => T, commits: (outcome: T) => boolean = () => true): T {
    this.#connection.exec("BEGIN IMMEDIATE");
    try {
      const outcome = change();
      this.#connection.exec(commits(outcome) ? "COMMIT" : "ROLLBACK");
      return outcome;
    } catch (error) {
      // SQLite ends the transaction by itself after some errors, such as a full disk.
      if (this.#connection.isTransaction) this.#connection.exec("ROLLBACK");
      throw error;
    }
  }

  /** Makes a change that a power failure may undo, without a wait for the disk. */
  withoutFlush(change: () => void): void {
    this.#connection.exec("PRAGMA synchronous = NORMAL");
    try {
      change();
    } finally {
      this.#connection.exec("PRAGMA synchronous = FULL");
    }
  }

  close(): void {
    if (this.#connection.isOpen) this.#connection.close();
  }
}

/**
 * Opens a database, or creates it, readable for its owner only. Its folder must exist.
 *
 * @param load makes the store from the database. When it throws, the database is closed.
 * @throws {Error} when the database cannot be used: the message says what to do.
 */
export function openDatabase<Name extends string, Store>(
  file: string,
  definition: DatabaseDefinition<Name>,
  load: (database: Database<Name>) => Store,
): Store {
  let connection: DatabaseSync | undefined;
  try {
    // SQLite gives its other files the mode of this file, which must therefore be right before SQLite opens it.
    closeSync(openSync(file, constants.O_RDWR | constants.O_CREAT, 0o600));
    connection = new DatabaseSync(file, { timeout: BUSY_TIMEOUT_MS });
    return load(new Database(connection, definition));
  } catch (error) {
    connection?.close();
    const { content, remedy } = definition;
    const cause = error instanceof Error ? error.message : String(error);
    throw new Error(`${content} in ${resolve(file)} cannot be used: ${cause}; ${remedy}`, { cause: error });
  }
}
