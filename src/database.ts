import { closeSync, constants, openSync } from "node:fs";
import { resolve } from "node:path";
import { DatabaseSync, type StatementSync } from "node:sqlite";

import { LockQueue } from "./lock-queue.ts";

/** How long SQLite waits for the lock of another process, in milliseconds, while its thread does nothing else. */
const BUSY_TIMEOUT_MS = 2_000;

/** The delay of a copy of the write-ahead log, in milliseconds. */
const CHECKPOINT_MS = 250;

/** Describes a database of the data folder: its content and the SQL of its store. */
export interface DatabaseDefinition<Name extends string> {
  /** The version of the format, which the database keeps as its `user_version`. 0 is a file from before versions. */
  readonly version: number;
  /** The content of the database, as the subject of an error: `the named tasks`. */
  readonly content: string;
  /** What the operator can do if the database cannot be used. */
  readonly remedy: string;
  readonly schema: string;
  readonly statements: Readonly<Record<Name, string>>;
  /** Whether SQLite overwrites deleted content. */
  readonly secureDelete?: boolean;
  /** Whether a change may be lost with the power, so that no change waits for the disk. The default waits. */
  readonly mayLose?: boolean;
  /**
   * Whether a thread that has no other work uses the database: SQLite then waits for the lock of another process. Otherwise
   * it waits only while the database is opened, and a change waits in `whenUnlocked`.
   */
  readonly hasOwnThread?: boolean;
}

/**
 * An open SQLite database and its prepared statements.
 *
 * A change waits for the disk (`synchronous = FULL`), because its caller acknowledges the change. With a write-ahead
 * log, `NORMAL` survives a killed process but not a power failure (https://sqlite.org/pragma.html#pragma_synchronous).
 * A database that may lose changes survives only a killed process (`OFF`).
 */
export class Database<Name extends string> {
  readonly statements: Readonly<Record<Name, StatementSync>>;
  readonly #connection: DatabaseSync;
  readonly #synchronous: "FULL" | "OFF";
  readonly #lockQueue = new LockQueue();
  #checkpoint: NodeJS.Timeout | null = null;

  constructor(
    connection: DatabaseSync,
    { version, schema, statements, secureDelete, mayLose }: DatabaseDefinition<Name>,
  ) {
    this.#connection = connection;
    this.#synchronous = mayLose ? "OFF" : "FULL";
    beginVersion(connection, version);
    connection.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = ${this.#synchronous}`);
    if (secureDelete) connection.exec("PRAGMA secure_delete = ON");
    connection.exec(schema);
    // After the schema, because a reader of a day ignores a file without a version.
    setVersion(connection, version);
    const prepared = Object.entries<string>(statements).map(([name, sql]) => [name, connection.prepare(sql)]);
    this.statements = Object.fromEntries(prepared) as Record<Name, StatementSync>;
  }

  get isOpen(): boolean {
    return this.#connection.isOpen;
  }

  /**
   * Makes a change in a transaction, which is atomic for other processes.
   *
   * @param commits decides from the return value of `change` whether to commit. The default always commits.
   * @throws the error of `change`, after a rollback, or an error of SQLite.
   */
  transaction<T>(change: () => T, commits: (outcome: T) => boolean = () => true): T {
    this.#connection.exec("BEGIN IMMEDIATE");
    try {
      const outcome = change();
      this.#connection.exec(commits(outcome) ? "COMMIT" : "ROLLBACK");
      return outcome;
    } catch (error) {
      // SQLite itself ends the transaction after some errors, such as a full disk.
      if (this.#connection.isTransaction) this.#connection.exec("ROLLBACK");
      throw error;
    }
  }

  /** Makes an atomic change at once, or when another process has released the lock. @throws as `LockQueue.run` */
  whenUnlocked<T>(change: () => T): T | Promise<T> {
    return this.#lockQueue.run(change);
  }

  /** Makes a change that a power failure may undo, without a wait for the disk. */
  withoutFlush(change: () => void): void {
    this.#connection.exec("PRAGMA synchronous = NORMAL");
    try {
      change();
    } finally {
      this.#connection.exec(`PRAGMA synchronous = ${this.#synchronous}`);
    }
  }

  /**
   * Copies all changes from the write-ahead log into the file soon (https://sqlite.org/pragma.html#pragma_wal_checkpoint). SQLite ignores a
   * log that is missing or damaged, so call it after changes whose loss would permit what was forbidden. A copy waits for the disk
   * twice, so changes that follow each other have one.
   */
  checkpointSoon(): void {
    this.#checkpoint ??= setTimeout(() => {
      this.#checkpoint = null;
      try {
        this.#connection.exec("PRAGMA wal_checkpoint(PASSIVE)");
      } catch {
        // The disk is full, or another process checkpoints. The change is in the log.
      }
    }, CHECKPOINT_MS).unref();
  }

  close(): void {
    clearTimeout(this.#checkpoint ?? undefined);
    if (this.#connection.isOpen) this.#connection.close();
  }
}

/**
 * Opens or creates a database that is readable only for its owner. Its folder must exist.
 *
 * @param load creates the store from the database. If it throws, the database is closed.
 * @throws {Error} if the database cannot be used. The message contains the remedy.
 */
export function openDatabase<Name extends string, Store>(
  file: string,
  definition: DatabaseDefinition<Name>,
  load: (database: Database<Name>) => Store,
): Store {
  let connection: DatabaseSync | undefined;
  try {
    // SQLite gives its other files the mode of this file, so the mode must be correct before SQLite opens it.
    closeSync(openSync(file, constants.O_RDWR | constants.O_CREAT, 0o600));
    connection = new DatabaseSync(file, { timeout: BUSY_TIMEOUT_MS });
    const store = load(new Database(connection, definition));
    if (!definition.hasOwnThread) connection.exec("PRAGMA busy_timeout = 0");
    return store;
  } catch (error) {
    connection?.close();
    const { content, remedy } = definition;
    if (error instanceof NewerVersion) throw error.about(content, file);
    const cause = error instanceof Error ? error.message : String(error);
    throw new Error(`${content} in ${resolve(file)} cannot be used: ${cause}; ${remedy}`, { cause: error });
  }
}

/** A file has a format that only a newer release reads. It is not damaged, so it must not be set aside or written. */
export class NewerVersion extends Error {
  readonly #version: number;
  readonly #known: number;

  constructor(version: number, known: number) {
    super(
      `it has version ${version} of the format, and this release reads versions up to ${known}: start the release that ` +
        "wrote it, or restore a backup that this release made",
    );
    this.#version = version;
    this.#known = known;
  }

  /** @returns the error with its subject. */
  about(content: string, file: string): NewerVersion {
    const named = new NewerVersion(this.#version, this.#known);
    named.message = `${content} in ${resolve(file)} cannot be used: ${this.message}`;
    return named;
  }
}

/** @throws {NewerVersion} if a newer release wrote the database. Call it before the first change. */
export function beginVersion(connection: DatabaseSync, known: number): void {
  const version = versionOf(connection);
  if (version > known) throw new NewerVersion(version, known);
}

/** Writes the version, if the database has another one. */
export function setVersion(connection: DatabaseSync, version: number): void {
  if (versionOf(connection) !== version) connection.exec(`PRAGMA user_version = ${version}`);
}

function versionOf(connection: DatabaseSync): number {
  return Number(connection.prepare("PRAGMA user_version").get()?.["user_version"]);
}
