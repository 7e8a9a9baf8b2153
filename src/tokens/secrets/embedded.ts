import { closeSync, constants, openSync } from "node:fs";
import { resolve } from "node:path";
import { DatabaseSync, type StatementSync } from "node:sqlite";

import { Problem } from "../../errors.ts";
import type { Clock } from "../../limits/clock.ts";
import { ForgetClock } from "../forget-clock.ts";
import type { SealedSecrets, SecretStore } from "./store.ts";

/** How often it is looked for what has ended, in milliseconds. */
const SWEEP_MS = 60_000;
/** Of one look: what is deleted is overwritten, which takes up to a millisecond each. */
const DELETED_AT_ONCE = 16;
/** For other requests to come in between. */
const NEXT_MS = 20;

/** The secrets of tokens in a database of the data folder. Several processes may have it open. */
export class EmbeddedSecrets implements SecretStore {
  readonly #database: DatabaseSync;
  readonly #statements: Readonly<Record<keyof typeof STATEMENTS, StatementSync>>;
  readonly #forgetClock: ForgetClock;
  readonly #sweeper: NodeJS.Timeout;

  /**
   * Opens the database, or makes it, readable for its owner only. Its folder must be there.
   *
   * @param nowMs the clock, in Unix milliseconds.
   * @param clock reports the uptime of the system, by which it is judged what has ended.
   * @throws {Error} when it cannot be used: it says what to do.
   */
  static open(file: string, nowMs: () => number, clock?: Pick<Clock, "sinceBoot">): EmbeddedSecrets {
    try {
      // SQLite gives its other files the mode of this one, which must therefore be right before SQLite sees it.
      closeSync(openSync(file, constants.O_RDWR | constants.O_CREAT, 0o600));
      return new EmbeddedSecrets(new DatabaseSync(file, { timeout: BUSY_TIMEOUT_MS }), nowMs, clock);
    } catch (error) {
      throw new Error(
        `the secrets of tokens in ${resolve(file)} cannot be used: ${error instanceof Error ? error.message : String(error)}; ` +
          "restore it from a backup, or remove it and set them anew",
        { cause: error },
      );
    }
  }

  private constructor(database: DatabaseSync, nowMs: () => number, clock?: Pick<Clock, "sinceBoot">) {
    this.#database = database;
    try {
      database.exec(SETTINGS);
      database.exec(SCHEMA);
      this.#forgetClock = new ForgetClock(database, clock);
      this.#statements = {
        bytes: database.prepare(STATEMENTS.bytes),
        put: database.prepare(STATEMENTS.put),
        get: database.prepare(STATEMENTS.get),
        any: database.prepare(STATEMENTS.any),
        remove: database.prepare(STATEMENTS.remove),
        removeFamily: database.prepare(STATEMENTS.removeFamily),
        forget: database.prepare(STATEMENTS.forget),
      };
      this.#forget(nowMs());
    } catch (error) {
      database.close();
      throw error;
    }
    // They end with their token, also where nobody asks for others.
    this.#sweeper = setInterval(() => this.#sweep(nowMs()), SWEEP_MS).unref();
  }

  put({ jti, parents, sealed, forgetAt }: SealedSecrets, nowMs: number, mostBytes: number = Infinity): boolean {
    return this.#write(() => {
      this.#forget(nowMs);
      const others = Number(this.#statements.bytes.get(parents.at(-1) ?? jti, jti)!["bytes"]);
      if (others + sealed.length > mostBytes) return false;
      this.#statements.put.run(jti, ` ${parents.join(" ")} `, sealed, forgetAt);
      return true;
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

  remove(jti: string, parents: readonly string[], { below }: { below: boolean }): void {
    this.#write(() => {
      if (below) this.#statements.removeFamily.run(parents.at(-1) ?? jti, jti, ` ${jti} `);
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

  /** @returns whether there may be more. */
  #forget(nowMs: number): boolean {
    return this.#statements.forget.run(this.#forgetClock.now(nowMs)).changes === DELETED_AT_ONCE;
  }

  #sweep(nowMs: number): void {
    if (!this.#database.isOpen) return;
    try {
      if (this.#forget(nowMs)) setTimeout(() => this.#sweep(nowMs), NEXT_MS).unref();
    } catch {
      // Whoever writes hears of a database that cannot be written. The next sweep comes.
    }
  }

  /** In a transaction: another process may put some, too. */
  #write<T>(change: () => T): T {
    try {
      this.#database.exec("BEGIN IMMEDIATE");
      try {
        const outcome = change();
        this.#database.exec("COMMIT");
        return outcome;
      } catch (error) {
        if (this.#database.isTransaction) this.#database.exec("ROLLBACK");
        throw error;
      }
    } catch (error) {
      throw new Problem("store_unavailable", "the secrets of tokens cannot be written; try again", { cause: error });
    }
  }
}

/** Another process holds the lock for one insert. A longer wait would stop the service, which waits here as a whole. */
const BUSY_TIMEOUT_MS = 2_000;

/** What is removed is overwritten: encrypted or not, it is to be gone. */
const SETTINGS = "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA secure_delete = ON";

/** The topmost token above one, or itself. */
const FAMILY = "CASE WHEN length(parents) > 36 THEN substr(parents, -37, 36) ELSE jti END";

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS secrets (
    jti TEXT PRIMARY KEY, parents TEXT NOT NULL, sealed TEXT NOT NULL, forget_at INTEGER
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX IF NOT EXISTS secrets_forget_at ON secrets (forget_at) WHERE forget_at IS NOT NULL;
  CREATE INDEX IF NOT EXISTS secrets_family ON secrets (${FAMILY}, octet_length(sealed));
`;

const STATEMENTS = {
  put: "INSERT OR REPLACE INTO secrets (jti, parents, sealed, forget_at) VALUES (?, ?, ?, ?)",
  bytes: `SELECT coalesce(sum(octet_length(sealed)), 0) AS bytes FROM secrets WHERE (${FAMILY}) = ? AND jti <> ?`,
  get: "SELECT sealed FROM secrets WHERE jti = ?",
  any: "SELECT 1 FROM secrets LIMIT 1",
  remove: "DELETE FROM secrets WHERE jti = ?",
  removeFamily: `DELETE FROM secrets WHERE (${FAMILY}) = ? AND (jti = ? OR instr(parents, ?) > 0)`,
  forget: `DELETE FROM secrets WHERE jti IN (SELECT jti FROM secrets WHERE forget_at < ? LIMIT ${DELETED_AT_ONCE})`,
};
