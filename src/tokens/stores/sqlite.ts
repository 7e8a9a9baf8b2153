import { type Database, openDatabase } from "../../database.ts";
import { Problem } from "../../errors.ts";
import type { Clock } from "../../limits/clock.ts";
import { isJti } from "../claims.ts";
import { ForgetClock } from "../forget-clock.ts";
import { LEEWAY_S } from "../format.ts";
import { claimsOf, type Payload } from "../payload.ts";
import {
  forgetAt,
  type IssuedToken,
  REMEMBERED_MS,
  type Revocation,
  type TokenStore,
  type TokenUse,
  tokensFull,
} from "../store.ts";
import { type Statement, TOKEN_DATABASE } from "./sqlite-statements.ts";

/**
 * Which tokens were issued here, and which were revoked.
 *
 * Several processes may have it open and issue. Only one, the service, may revoke: it asks its memory at each request.
 */
export class SqliteTokenStore implements TokenStore {
  readonly #database: Database<Statement>;
  readonly #statements: Database<Statement>["statements"];
  readonly #forgetClock: ForgetClock;
  readonly #revoked: Set<string>;
  /** Revocations that the change in progress deletes. */
  #forgotten: string[] = [];
  #told: (jtis: readonly string[]) => void = () => {};

  /**
   * @param nowMs Unix milliseconds: what ended long before is forgotten.
   * @param clock reports the uptime of the system, by which that is judged.
   * @throws {Error} when the database in this file cannot be used: the message says what to do.
   */
  static open(file: string, nowMs: number, clock?: Pick<Clock, "sinceBoot">): SqliteTokenStore {
    return openDatabase(file, TOKEN_DATABASE, (database) => new SqliteTokenStore(database, nowMs, clock));
  }

  private constructor(database: Database<Statement>, nowMs: number, clock?: Pick<Clock, "sinceBoot">) {
    this.#database = database;
    this.#statements = database.statements;
    this.#forgetClock = new ForgetClock(database.statements, clock);
    const overMs = this.#forgetClock.now(nowMs);
    this.#statements.forgetIssued.run(overMs);
    this.#statements.forgetUsed.run();
    this.#statements.forgetRevoked.all(overMs);
    this.#revoked = new Set(this.#statements.revoked.all().map(({ jti }) => String(jti)));
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
    this.#database.withoutFlush(() => {
      this.#write("what tokens were used for is not kept", () => {
        for (const [jti, { runs, lastMs }] of uses) this.#statements.addUse.run(jti, runs, lastMs);
      });
    });
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
    this.#forgotten = [];
    try {
      this.#database.transaction(change);
      for (const jti of this.#forgotten) this.#revoked.delete(jti);
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
