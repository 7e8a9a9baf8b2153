import { closeSync, constants, openSync } from "node:fs";
import { resolve } from "node:path";
import { DatabaseSync, type StatementSync } from "node:sqlite";

import { Problem } from "../../errors.ts";
import type { SealedSecrets, SecretStore } from "./store.ts";

/** How often it is looked for what has ended, in milliseconds. */
const SWEEP_MS = 60_000;

/** The secrets of tokens in a database of the data folder. Several processes may have it open. */
export class EmbeddedSecrets implements SecretStore {
  readonly #database: DatabaseSync;
  readonly #statements: Readonly<Record<keyof typeof STATEMENTS, StatementSync>>;
  readonly #sweeper: NodeJS.Timeout;

  /**
   * Opens the database, or makes it, readable for its owner only. Its folder must be there.
   *
   * @param nowMs the clock, in Unix milliseconds.
   * @throws {Error} when it cannot be used: it says what to do.
   */
  static open(file: string, nowMs: () => number): EmbeddedSecrets {
    try {
      // SQLite gives its other files the mode of this one, which must therefore be right before SQLite sees it.
      closeSync(openSync(file, constants.O_RDWR | constants.O_CREAT, 0o600));
      return new EmbeddedSecrets(new DatabaseSync(file, { timeout: BUSY_TIMEOUT_MS }), nowMs);
    } catch (error) {
      throw new Error(
        `the secrets of tokens in ${resolve(file)} cannot be used: ${error instanceof Error ? error.message : String(error)}; ` +
          "restore it from a backup, or remove it and set them anew",
        { cause: error },
      );
    }
  }

  private constructor(database: DatabaseSync, nowMs: () => number) {
    this.#database = database;
    try {
      database.exec(SETTINGS);
      database.exec(SCHEMA);
      this.#statements = {
        put: database.prepare(STATEMENTS.put),
        get: database.prepare(STATEMENTS.get),
        any: database.prepare(STATEMENTS.any),
        remove: database.prepare(STATEMENTS.remove),
        removeFamily: database.prepare(STATEMENTS.removeFamily),
        forget: database.prepare(STATEMENTS.forget),
      };
      this.#statements.forget.run(nowMs());
    } catch (error) {
      database.close();
      throw error;
    }
    // They end with their token, also where nobody asks for others.
    this.#sweeper = setInterval(() => this.#sweep(nowMs()), SWEEP_MS).unref();
  }

  put({ jti, parents, sealed, forgetAt }: SealedSecrets, nowMs: number): void {
    this.#write(() => {
      this.#statements.forget.run(nowMs);
      this.#statements.put.run(jti, ` ${parents.join(" ")} `, sealed, forgetAt);
    });
  }

  get(jti: string, parents: readonly string[]): (string | null)[] {
    try {
      return [jti, ...parents].map((each) => {
        const row = this.#statements.get.get(each);
        return row ? String(row["sealed"]) : null;
      });
    } catch (error) {
      throw new Problem("store_unavailable", "the secrets of tokens cannot be read; try again", { cause: error });
    }
  }

  remove(jti: string, _parents: readonly string[], { below }: { below: boolean }): void {
    this.#write(() => {
      if (below) this.#statements.removeFamily.run(jti, ` ${jti} `);
      else this.#statements.remove.run(jti);
    });
  }

  /** Whether nothing is kept, for any token. */
  isEmpty(): boolean {
    return this.#statements.any.get() === undefined;
  }

  close(): void {
    clearInterval(this.#sweeper);
    if (this.#database.isOpen) this.#database.close();
  }

  #sweep(nowMs: number): void {
    try {
      this.#statements.forget.run(nowMs);
    } catch {
      // Whoever writes hears of a database that cannot be written. The next sweep comes.
    }
  }

  #write(change: () => void): void {
    try {
      change();
    } catch (error) {
      throw new Problem("store_unavailable", "the secrets of tokens cannot be written; try again", { cause: error });
    }
  }
}

/** Another process holds the lock for one insert. A longer wait would stop the service, which waits here as a whole. */
const BUSY_TIMEOUT_MS = 2_000;

/** What is removed is overwritten: encrypted or not, it is to be gone. */
const SETTINGS = "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA secure_delete = ON";

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS secrets (
    jti TEXT PRIMARY KEY, parents TEXT NOT NULL, sealed TEXT NOT NULL, forget_at INTEGER
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX IF NOT EXISTS secrets_forget_at ON secrets (forget_at) WHERE forget_at IS NOT NULL;
`;

const STATEMENTS = {
  put: "INSERT OR REPLACE INTO secrets (jti, parents, sealed, forget_at) VALUES (?, ?, ?, ?)",
  get: "SELECT sealed FROM secrets WHERE jti = ?",
  any: "SELECT 1 FROM secrets LIMIT 1",
  remove: "DELETE FROM secrets WHERE jti = ?",
  removeFamily: "DELETE FROM secrets WHERE jti = ? OR instr(parents, ?) > 0",
  forget: "DELETE FROM secrets WHERE forget_at < ?",
};
