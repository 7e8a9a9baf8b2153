import { closeSync, constants, openSync } from "node:fs";
import { resolve } from "node:path";
import { DatabaseSync, type StatementSync } from "node:sqlite";

import { Problem } from "../errors.ts";
import type { Clock } from "../limits/clock.ts";
import { isJti } from "./claims.ts";
import { ForgetClock } from "./forget-clock.ts";
import { LEEWAY_S } from "./format.ts";
import { claimsOf, type Payload } from "./payload.ts";
import {
  forgetAt,
  type IssuedToken,
  REMEMBERED_MS,
  type Revocation,
  type TokenRegister,
  type TokenUse,
  tokensFull,
} from "./register.ts";
import { SCHEMA, STATEMENTS, type Statement } from "./registry-sql.ts";

/**
 * Which tokens were issued here, and which were revoked.
 *
 * Several processes may have it open and issue. Only one, the service, may revoke: it asks its memory at each request.
 */
export class Registry implements TokenRegister {
  readonly #database: DatabaseSync;
  readonly #statements: Readonly<Record<Statement, StatementSync>>;
  readonly #forgetClock: ForgetClock;
  readonly #revoked: Set<string>;
  /** Revocations that the change in progress deletes. */
  #forgotten: string[] = [];
  #told: (jtis: readonly string[]) => void = () => {};

  /**
   * Opens the database, or makes it, readable for its owner only. Its folder must be there.
   *
   * @param nowMs Unix milliseconds: what ended long before is forgotten.
   * @param clock reports the uptime of the system, by which that is judged.
   * @throws {Error} when it cannot be used: it says what to do.
   */
  static open(file: string, nowMs: number, clock?: Pick<Clock, "sinceBoot">): Registry {
    try {
      // SQLite gives its other files the mode of this one, which must therefore be right before SQLite sees it.
      closeSync(openSync(file, constants.O_RDWR | constants.O_CREAT, 0o600));
      return new Registry(new DatabaseSync(file, { timeout: BUSY_TIMEOUT_MS }), nowMs, clock);
    } catch (error) {
      throw new Error(
        `the register of tokens in ${resolve(file)} cannot be used: ${error instanceof Error ? error.message : String(error)}; ` +
          "restore it from a backup. Without it revoked tokens are valid again, unless the signing keys are deleted too",
        { cause: error },
      );
    }
  }

  private constructor(database: DatabaseSync, nowMs: number, clock?: Pick<Clock, "sinceBoot">) {
    this.#database = database;
    try {
      database.exec(SETTINGS);
      database.exec(SCHEMA);
      this.#forgetClock = new ForgetClock(database, clock);
      this.#statements = {
        issue: database.prepare(STATEMENTS.issue),
        issued: database.prepare(STATEMENTS.issued),
        revoke: database.prepare(STATEMENTS.revoke),
        retireIssued: database.prepare(STATEMENTS.retireIssued),
        retireRevoked: database.prepare(STATEMENTS.retireRevoked),
        forgetIssued: database.prepare(STATEMENTS.forgetIssued),
        list: database.prepare(STATEMENTS.list),
        revocation: database.prepare(STATEMENTS.revocation),
        usesKey: database.prepare(STATEMENTS.usesKey),
        addUse: database.prepare(STATEMENTS.addUse),
        use: database.prepare(STATEMENTS.use),
        forgetUsed: database.prepare(STATEMENTS.forgetUsed),
        forgetRevoked: database.prepare(STATEMENTS.forgetRevoked),
        unexpired: database.prepare(STATEMENTS.unexpired),
        family: database.prepare(STATEMENTS.family),
        ended: database.prepare(STATEMENTS.ended),
        removeIssued: database.prepare(STATEMENTS.removeIssued),
        removeRevoked: database.prepare(STATEMENTS.removeRevoked),
        removeUsed: database.prepare(STATEMENTS.removeUsed),
      };
      const overMs = this.#forgetClock.now(nowMs);
      this.#statements.forgetIssued.run(overMs);
      this.#statements.forgetUsed.run();
      this.#statements.forgetRevoked.all(overMs);
      this.#revoked = new Set(
        database
          .prepare("SELECT jti FROM revoked")
          .all()
          .map(({ jti }) => String(jti)),
      );
    } catch (error) {
      database.close();
      throw error;
    }
  }

  /**
   * Remembers a token that is about to be handed out.
   *
   * @param most as of the interface
   * @throws {Problem} `store_unavailable` when it cannot be written, `quota_exceeded`.
   */
  record(
    payload: Payload,
    issuedBy: string,
    nowMs: number,
    kids: readonly string[] = [],
    most: number = Infinity,
  ): void {
    this.#write("the token was not issued", () => {
      const overMs = this.#forget(nowMs);
      this.#makeRoom(payload, nowMs, overMs, most);
      const { jti, exp } = payload;
      this.#statements.issue.run(
        jti,
        JSON.stringify(payload),
        issuedBy,
        nowMs,
        exp === undefined ? null : forgetAt(exp, LEEWAY_S),
        kids.join(" "),
      );
    });
  }

  /** The token of that `jti`, also when another process issued it; `undefined` when it is unknown or long expired. */
  issued(jti: string): IssuedToken | undefined {
    const row = this.#statements.issued.get(jti);
    return row && issuedOf(row);
  }

  /** The tokens after a `jti`, also those that another process issued. */
  list(after: string, count: number): IssuedToken[] {
    return this.#statements.list.all(after, count).map(issuedOf);
  }

  /**
   * Ends a token, and those below it, at once and for good: on disk before this returns.
   *
   * A `jti` that was not issued here is revoked too, for nodes that share keys.
   *
   * @param end Unix seconds at which one that was not issued here expires, where that is known: until then it is kept.
   * @returns whether it was this call that revoked it.
   * @throws {Problem} `request_invalid` when it is no `jti`, `store_unavailable` when it cannot be written.
   */
  revoke(jti: string, revokedBy: string, nowMs: number, end: number | null = null): boolean {
    if (!isJti(jti)) {
      throw new Problem("request_invalid", "the jti is not one that this service gives: it is a UUID in lower case");
    }
    if (this.#revoked.has(jti)) return false;
    this.#write("the token was not revoked", () => {
      this.#forget(nowMs);
      this.#statements.revoke.run(jti, revokedBy, nowMs, end === null ? null : forgetAt(end, LEEWAY_S));
    });
    // After the disk: what was answered as revoked must not come back with a restart.
    this.#revoked.add(jti);
    this.#told([jti]);
    return true;
  }

  retire(jti: string, nowMs: number): void {
    const forget = forgetAt(Math.floor(nowMs / 1_000), LEEWAY_S);
    this.#write("the token is not forgotten", () => {
      this.#statements.retireIssued.run(jti, forget);
      this.#statements.retireRevoked.run(jti, forget);
    });
  }

  isRevoked(jti: string): boolean {
    return this.#revoked.has(jti);
  }

  revocation(jti: string): Revocation | undefined {
    const row = this.#statements.revocation.get(jti);
    return row && { by: String(row["revoked_by"]), at: Number(row["revoked_at"]) };
  }

  isKeyUsed(kid: string, nowMs: number): boolean {
    return this.#statements.usesKey.get(kid, nowMs + REMEMBERED_MS) !== undefined;
  }

  addUse(uses: ReadonlyMap<string, TokenUse>): void {
    // Some of these come each second, and a loss of power may have the last: no wait for the disk.
    this.#database.exec("PRAGMA synchronous = NORMAL");
    try {
      this.#write("what tokens were used for is not kept", () => {
        for (const [jti, { runs, lastMs }] of uses) this.#statements.addUse.run(jti, runs, lastMs);
      });
    } finally {
      this.#database.exec("PRAGMA synchronous = FULL");
    }
  }

  use(jti: string): TokenUse | undefined {
    const row = this.#statements.use.get(jti);
    return row && { runs: Number(row["runs"]), lastMs: Number(row["last_ms"]) };
  }

  onRevoked(told: (jtis: readonly string[]) => void): void {
    this.#told = told;
  }

  close(): void {
    this.#database.close();
  }

  /**
   * At each write, so that neither the file nor the memory grows with the tokens of the past.
   *
   * @returns the time by which records have ended.
   */
  #forget(nowMs: number): number {
    const overMs = this.#forgetClock.now(nowMs);
    this.#statements.forgetIssued.run(overMs);
    for (const { jti } of this.#statements.forgetRevoked.all(overMs)) this.#forgotten.push(String(jti));
    return overMs;
  }

  /** Holds the family of the token to its quota, and deletes expired tokens of a family that has too many on record. */
  #makeRoom({ parents, task }: Payload, nowMs: number, overMs: number, most: number): void {
    const family = parents?.at(-1);
    if (family === undefined || most === Infinity) return;
    const kind = task === undefined ? 1 : 0;
    // The tokens of named tasks are as many as there are tasks, which their store counts.
    if (kind === 1 && countOf(this.#statements.unexpired.get(family, kind, nowMs + REMEMBERED_MS)) >= most) {
      throw tokensFull(most);
    }
    const surplus = countOf(this.#statements.family.get(family, kind)) + 1 - most;
    if (surplus <= 0) return;
    for (const row of this.#statements.ended.all(family, kind, overMs + REMEMBERED_MS, surplus)) {
      const jti = String(row["jti"]);
      this.#statements.removeIssued.run(jti);
      this.#statements.removeUsed.run(jti);
      this.#statements.removeRevoked.run(jti);
      this.#forgotten.push(jti);
    }
  }

  #write(consequence: string, change: () => void): void {
    try {
      this.#database.exec("BEGIN IMMEDIATE");
      this.#forgotten = [];
      try {
        change();
        this.#database.exec("COMMIT");
        for (const jti of this.#forgotten) this.#revoked.delete(jti);
      } catch (error) {
        if (this.#database.isTransaction) this.#database.exec("ROLLBACK");
        throw error;
      }
    } catch (error) {
      if (error instanceof Problem) throw error;
      throw new Problem("store_unavailable", `the register of tokens cannot be written; ${consequence}`, {
        cause: error,
      });
    }
  }
}

function countOf(row: Record<string, unknown> | undefined): number {
  return Number(row!["count"]);
}

function issuedOf(row: Record<string, unknown>): IssuedToken {
  const kids = String(row["kids"]);
  return {
    claims: claimsOf(JSON.parse(String(row["payload"]))),
    issuedBy: String(row["issued_by"]),
    issuedAt: Number(row["issued_at"]),
    kids: kids === "" ? [] : kids.split(" "),
  };
}

/** Another process holds the lock for one insert. A longer wait would stop the service, which waits here as a whole. */
const BUSY_TIMEOUT_MS = 2_000;

/**
 * With a write-ahead log, `NORMAL` outlives a killed process but not a power failure: it writes without waiting for the
 * disk. A revocation answers for a stolen token, so it waits (`FULL`). Both are rare enough to pay a flush each.
 */
const SETTINGS = "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL";
