import { type Database, type DatabaseDefinition, openDatabase } from "../../../database.ts";
import { Problem } from "../../../errors.ts";
import type { Clock } from "../../../limits/steady-clock.ts";
import { FORGET_CLOCK_SCHEMA, FORGET_CLOCK_STATEMENTS, ForgetClock } from "../../forget-clock.ts";
import type { SealedSecrets, SecretStore } from "../store.ts";

/** The interval between sweeps for ended secrets, in milliseconds. */
const SWEEP_MS = 60_000;
/** The maximum number of deletions in one step. Deletion overwrites the data, which takes up to a millisecond each. */
const DELETED_AT_ONCE = 16;
/** The pause between two steps in milliseconds, in which other requests run. */
const NEXT_MS = 20;

/** The secrets of tokens in a database of the data folder. Several processes may have it open. */
export class SqliteSecretStore implements SecretStore {
  readonly #database: Database<Statement>;
  readonly #statements: Database<Statement>["statements"];
  readonly #forgetClock: ForgetClock;
  readonly #sweeper: NodeJS.Timeout;

  /**
   * @param nowMs the clock, in Unix milliseconds
   * @param clock reports the uptime of the system, which limits how fast ended secrets are deleted
   * @throws {Error} when the database in this file cannot be used. The message contains the fix.
   */
  static open(file: string, nowMs: () => number, clock?: Pick<Clock, "sinceBoot">): SqliteSecretStore {
    return openDatabase(file, DEFINITION, (database) => new SqliteSecretStore(database, nowMs, clock));
  }

  private constructor(database: Database<Statement>, nowMs: () => number, clock?: Pick<Clock, "sinceBoot">) {
    this.#database = database;
    this.#statements = database.statements;
    this.#forgetClock = new ForgetClock(database.statements, clock);
    this.#forget(nowMs());
    // Secrets end with their token, even if no other request arrives.
    this.#sweeper = setInterval(() => this.#sweep(nowMs()), SWEEP_MS).unref();
  }

  put(
    { jti, parents, sealed, forgetAt }: SealedSecrets,
    nowMs: number,
    mostBytes: number = Infinity,
  ): Promise<boolean> | boolean {
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

  remove(jti: string, parents: readonly string[], { below }: { below: boolean }): Promise<void> | void {
    return this.#write(() => {
      if (below) this.#statements.removeFamily.run(parents.at(-1) ?? jti, jti, ` ${jti} `);
      else this.#statements.remove.run(jti);
    });
  }

  /** Returns whether the store has no secrets of any token. */
  isEmpty(): boolean {
    return this.#statements.any.get() === undefined;
  }

  close(): void {
    clearInterval(this.#sweeper);
    this.#database.close();
  }

  /** Deletes ended secrets. @returns whether there may be more. */
  #forget(nowMs: number): boolean {
    return this.#statements.forget.run(this.#forgetClock.now(nowMs)).changes === DELETED_AT_ONCE;
  }

  #sweep(nowMs: number): void {
    if (!this.#database.isOpen) return;
    try {
      if (this.#forget(nowMs)) setTimeout(() => this.#sweep(nowMs), NEXT_MS).unref();
    } catch {
      // Requests that write report a database that cannot be written. The next sweep tries again.
    }
  }

  /** Runs a change in a transaction, because other processes may write too. */
  #write<T>(change: () => T): T | Promise<T> {
    return this.#database.whenUnlocked(() => {
      try {
        return this.#database.transaction(change);
      } catch (error) {
        throw new Problem("store_unavailable", "the secrets of tokens cannot be written; try again", { cause: error });
      }
    });
  }
}

/** The topmost token above a token, or the token itself. */
const FAMILY = "CASE WHEN length(parents) > 36 THEN substr(parents, -37, 36) ELSE jti END";

const STATEMENTS = {
  ...FORGET_CLOCK_STATEMENTS,
  put: "INSERT OR REPLACE INTO secrets (jti, parents, sealed, forget_at) VALUES (?, ?, ?, ?)",
  bytes: `SELECT coalesce(sum(octet_length(sealed)), 0) AS bytes FROM secrets WHERE (${FAMILY}) = ? AND jti <> ?`,
  get: "SELECT sealed FROM secrets WHERE jti = ?",
  any: "SELECT 1 FROM secrets LIMIT 1",
  remove: "DELETE FROM secrets WHERE jti = ?",
  removeFamily: `DELETE FROM secrets WHERE (${FAMILY}) = ? AND (jti = ? OR instr(parents, ?) > 0)`,
  forget: `DELETE FROM secrets WHERE jti IN (SELECT jti FROM secrets WHERE forget_at < ? LIMIT ${DELETED_AT_ONCE})`,
};

type Statement = keyof typeof STATEMENTS;

/** The version of the format. */
export const SECRETS_VERSION = 1;

const DEFINITION: DatabaseDefinition<Statement> = {
  version: SECRETS_VERSION,
  content: "the secrets of tokens",
  remedy: "restore it from a backup, or remove it and set them again",
  schema:
    FORGET_CLOCK_SCHEMA +
    `
  CREATE TABLE IF NOT EXISTS secrets (
    jti TEXT PRIMARY KEY, parents TEXT NOT NULL, sealed TEXT NOT NULL, forget_at INTEGER
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX IF NOT EXISTS secrets_forget_at ON secrets (forget_at) WHERE forget_at IS NOT NULL;
  CREATE INDEX IF NOT EXISTS secrets_family ON secrets (${FAMILY}, octet_length(sealed));
`,
  statements: STATEMENTS,
  // A removed secret must leave no trace, although it is encrypted.
  secureDelete: true,
};
