import { closeSync, constants, openSync } from "node:fs";
import { resolve } from "node:path";
import { DatabaseSync, type StatementSync } from "node:sqlite";

import { Problem } from "../../errors.ts";
import { KEPT_VERSIONS, type PutOutcome, type StoredVersion, type TaskStore } from "../store.ts";

/** Named tasks in a database of a folder that this process alone uses. */
export class EmbeddedTasks implements TaskStore {
  readonly #database: DatabaseSync;
  readonly #statements: Readonly<Record<keyof typeof STATEMENTS, StatementSync>>;

  /**
   * Opens the database, or makes it, readable for its owner only. Its folder must be there.
   *
   * @throws {Error} when it cannot be used: it says what to do.
   */
  static open(file: string): EmbeddedTasks {
    try {
      // SQLite gives its other files the mode of this one, which must therefore be right before SQLite sees it.
      closeSync(openSync(file, constants.O_RDWR | constants.O_CREAT, 0o600));
      return new EmbeddedTasks(new DatabaseSync(file));
    } catch (error) {
      throw new Error(
        `the named tasks in ${resolve(file)} cannot be used: ${error instanceof Error ? error.message : String(error)}; ` +
          "restore it from a backup, or remove it and put the tasks anew",
        { cause: error },
      );
    }
  }

  private constructor(database: DatabaseSync) {
    this.#database = database;
    try {
      database.exec(SETTINGS);
      database.exec(SCHEMA);
      this.#statements = {
        newest: database.prepare(STATEMENTS.newest),
        version: database.prepare(STATEMENTS.version),
        versions: database.prepare(STATEMENTS.versions),
        put: database.prepare(STATEMENTS.put),
        count: database.prepare(STATEMENTS.count),
        forget: database.prepare(STATEMENTS.forget),
        remove: database.prepare(STATEMENTS.remove),
        list: database.prepare(STATEMENTS.list),
      };
    } catch (error) {
      database.close();
      throw error;
    }
  }

  newest(container: string, name: string): string | null {
    return this.#newest(container, name)?.record ?? null;
  }

  version(container: string, name: string, version: number): StoredVersion | null {
    const row = guarded(() => this.#statements.version.get(container, name, version));
    return row ? storedOf(row) : null;
  }

  versions(container: string, name: string): string[] {
    return guarded(() => this.#statements.versions.all(container, name)).map(recordOf);
  }

  put(container: string, name: string, added: StoredVersion, after: string | null, most: number): PutOutcome {
    const { version, etag, record, code } = added;
    return this.#change(container, name, after, () => {
      if (after === null && Number(this.#statements.count.get(container)!["count"]) >= most) return "full";
      this.#statements.put.run(container, name, version, etag, record, code);
      this.#statements.forget.run(container, name, version - KEPT_VERSIONS);
      return "kept";
    });
  }

  remove(container: string, name: string, etag: string): boolean {
    const outcome = this.#change(container, name, etag, () => {
      this.#statements.remove.run(container, name);
      return "kept";
    });
    return outcome === "kept";
  }

  list(container: string, after: string, count: number): string[] {
    return guarded(() => this.#statements.list.all(container, after, count)).map(recordOf);
  }

  close(): void {
    this.#database.close();
  }

  #newest(container: string, name: string): { etag: string; record: string } | null {
    const row = guarded(() => this.#statements.newest.get(container, name));
    return row ? { etag: String(row["etag"]), record: recordOf(row) } : null;
  }

  #change(container: string, name: string, after: string | null, change: () => PutOutcome): PutOutcome {
    return guarded(() => {
      this.#database.exec("BEGIN IMMEDIATE");
      try {
        const isNewest = (this.#newest(container, name)?.etag ?? null) === after;
        const outcome = isNewest ? change() : "changed";
        this.#database.exec("COMMIT");
        return outcome;
      } catch (error) {
        if (this.#database.isTransaction) this.#database.exec("ROLLBACK");
        throw error;
      }
    });
  }
}

function guarded<T>(step: () => T): T {
  try {
    return step();
  } catch (error) {
    if (error instanceof Problem) throw error;
    throw new Problem("store_unavailable", "the named tasks cannot be read or written; try again", { cause: error });
  }
}

function recordOf(row: Readonly<Record<string, unknown>>): string {
  return String(row["record"]);
}

function storedOf(row: Readonly<Record<string, unknown>>): StoredVersion {
  const { version, etag, code } = row;
  return {
    version: Number(version),
    etag: String(etag),
    record: recordOf(row),
    code: typeof code === "string" ? code : null,
  };
}

/** Rare, and an answer to somebody who takes it for kept: it waits for the disk. */
const SETTINGS = "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL";

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS tasks (
    container TEXT NOT NULL, name TEXT NOT NULL, version INTEGER NOT NULL, etag TEXT NOT NULL, record TEXT NOT NULL,
    code TEXT, PRIMARY KEY (container, name, version)
  ) STRICT;
`;

const STATEMENTS = {
  newest: "SELECT etag, record FROM tasks WHERE container = ? AND name = ? ORDER BY version DESC LIMIT 1",
  version: "SELECT version, etag, record, code FROM tasks WHERE container = ? AND name = ? AND version = ?",
  versions: "SELECT record FROM tasks WHERE container = ? AND name = ? ORDER BY version DESC",
  put: "INSERT INTO tasks (container, name, version, etag, record, code) VALUES (?, ?, ?, ?, ?, ?)",
  count: "SELECT count(DISTINCT name) AS count FROM tasks WHERE container = ?",
  forget: "DELETE FROM tasks WHERE container = ? AND name = ? AND version <= ?",
  remove: "DELETE FROM tasks WHERE container = ? AND name = ?",
  list: `SELECT record FROM tasks AS t WHERE container = ? AND name > ?
    AND version = (SELECT max(version) FROM tasks WHERE container = t.container AND name = t.name) ORDER BY name LIMIT ?`,
};
