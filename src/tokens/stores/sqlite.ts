import { type Database, openDatabase } from "../../database.ts";
import { Problem } from "../../errors.ts";
import type { Clock } from "../../limits/steady-clock.ts";
import { isJti } from "../claims.ts";
import { ForgetClock } from "../forget-clock.ts";
import { claimsOf, type Payload } from "../payload.ts";
import {
  forgetAt,
  type IssuedToken,
  type Lineage,
  REMEMBERED_MS,
  type Revocation,
  type TokenStore,
  type TokenUse,
  tokensFull,
} from "../store.ts";
import { LEEWAY_S } from "../token-format.ts";
import { type Statement, TOKEN_DATABASE } from "./sqlite-statements.ts";

interface WaitingRevocation {
  readonly jti: string;
  readonly revokedBy: string;
  readonly nowMs: number;
  readonly end: number | null;
  readonly resolve: (isFresh: boolean) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * The tokens that were issued here, and the revoked ones.
 *
 * Several processes may open it and issue tokens. Only one, the service, may revoke: it checks its memory at each request.
 */
export class SqliteTokenStore implements TokenStore {
  readonly #database: Database<Statement>;
  readonly #statements: Database<Statement>["statements"];
  readonly #forgetClock: ForgetClock;
  readonly #revoked: Set<string>;
  /** Revocations that the current change deletes. */
  #forgotten: string[] = [];
  /** The revocations of this turn of the event loop. */
  #waiting: WaitingRevocation[] = [];
  readonly #revokedListeners: ((jtis: readonly string[]) => void)[] = [];

  /**
   * @param nowMs Unix milliseconds: records that ended long before are deleted
   * @param clock reports the uptime of the system, which limits how fast ended records are deleted
   * @throws {Error} when the database in this file cannot be used. The message contains the fix.
   */
  static open(file: string, nowMs: number, clock?: Pick<Clock, "sinceBoot">): SqliteTokenStore {
    return openDatabase(file, TOKEN_DATABASE, (database) => new SqliteTokenStore(database, nowMs, clock));
  }

  private constructor(database: Database<Statement>, nowMs: number, clock?: Pick<Clock, "sinceBoot">) {
    this.#database = database;
    this.#statements = database.statements;
    this.#forgetClock = new ForgetClock(database.statements, clock);
    const endedMs = this.#forgetClock.now(nowMs);
    this.#statements.forgetIssued.run(endedMs);
    this.#statements.forgetUsed.run();
    this.#statements.forgetRevoked.all(endedMs);
    this.#revoked = new Set(this.#statements.revoked.all().map(({ jti }) => String(jti)));
  }

  /**
   * Records a token before the caller receives it.
   *
   * @param most as in the interface
   * @throws {Problem} `store_unavailable` when it cannot be written, `quota_exceeded` when there are too many tokens.
   */
  record(
    payload: Payload,
    issuedBy: string,
    nowMs: number,
    kids: readonly string[] = [],
    most: number = Infinity,
  ): Promise<void> | void {
    return this.#write("the token was not issued", () => {
      const endedMs = this.#forget(nowMs);
      this.#makeRoom(payload, nowMs, endedMs, most);
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

  /** Returns the token of that `jti`, even if another process issued it; `undefined` if it is unknown or expired long ago. */
  issued(jti: string): IssuedToken | undefined {
    const row = this.#statements.issued.get(jti);
    return row && issuedOf(row);
  }

  /** Returns the tokens after a `jti`, including those that another process issued. */
  list(after: string, count: number): IssuedToken[] {
    return this.#statements.list.all(after, count).map(issuedOf);
  }

  listBelow({ jti }: Lineage, after: string, count: number): IssuedToken[] {
    return this.#statements.listBelow.all(jti, after, count).map(issuedOf);
  }

  /**
   * Ends a token and the tokens below it at once and for good. The revocation is on disk before this returns.
   *
   * A `jti` that was not issued here is revoked too, because nodes may share keys without sharing the store.
   *
   * Revocations of one turn of the event loop are one transaction: each waits for the disk, on the thread of all requests.
   *
   * @param end the Unix seconds at which a token that was not issued here expires, if known: the revocation is kept until then
   * @returns whether this call revoked it.
   * @throws {Problem} `request_invalid` when it is not a `jti`, `store_unavailable` when it cannot be written.
   */
  revoke(jti: string, revokedBy: string, nowMs: number, end: number | null = null): Promise<boolean> | boolean {
    if (!isJti(jti)) {
      throw new Problem("request_invalid", "the jti is not valid: it must be a UUID in lower case");
    }
    if (this.#revoked.has(jti)) return false;
    const { promise, resolve, reject } = Promise.withResolvers<boolean>();
    const count = this.#waiting.push({ jti, revokedBy, nowMs, end, resolve, reject });
    if (count === 1) setImmediate(() => void this.#revokeWaiting());
    return promise;
  }

  async #revokeWaiting(): Promise<void> {
    const waiting = this.#waiting;
    this.#waiting = [];
    try {
      const fresh = await this.#database.whenUnlocked(() => this.#revokeAll(waiting));
      for (const each of waiting) each.resolve(fresh.get(each.jti) === each);
    } catch (error) {
      for (const { reject } of waiting) reject(error);
    }
  }

  /** Writes revocations in one transaction. @returns the first of each token that was not revoked before */
  #revokeAll(waiting: readonly WaitingRevocation[]): ReadonlyMap<string, WaitingRevocation> {
    const fresh = new Map<string, WaitingRevocation>();
    for (const each of waiting) if (!this.#revoked.has(each.jti) && !fresh.has(each.jti)) fresh.set(each.jti, each);
    if (fresh.size === 0) return fresh;
    this.#writeNow("the token was not revoked", () => {
      for (const { jti, revokedBy, nowMs, end } of fresh.values()) {
        this.#forget(nowMs);
        this.#statements.revoke.run(jti, revokedBy, nowMs, end === null ? null : forgetAt(end, LEEWAY_S));
      }
    });
    this.#database.checkpointSoon();
    // After the disk write: a token that was reported as revoked must not be valid after a restart.
    for (const jti of fresh.keys()) this.#revoked.add(jti);
    for (const listener of this.#revokedListeners) listener([...fresh.keys()]);
    return fresh;
  }

  retire(jti: string, nowMs: number): Promise<void> | void {
    const forget = forgetAt(Math.floor(nowMs / 1_000), LEEWAY_S);
    return this.#write("the records of the token were not deleted", () => {
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
    // Uses are written every second, and the last may be lost with the power, so this waits for neither the disk nor a lock.
    this.#database.withoutFlush(() => {
      this.#writeNow("the use of tokens was not recorded", () => {
        for (const [jti, { runs, lastMs }] of uses) this.#statements.addUse.run(jti, runs, lastMs);
      });
    });
  }

  use(jti: string): TokenUse | undefined {
    const row = this.#statements.use.get(jti);
    return row && { runs: Number(row["runs"]), lastMs: Number(row["last_ms"]) };
  }

  onRevoked(listener: (jtis: readonly string[]) => void): void {
    this.#revokedListeners.push(listener);
  }

  close(): void {
    this.#database.close();
  }

  /**
   * Deletes ended records. Each write calls this, so that neither the file nor the memory grows with past tokens.
   *
   * @returns the time before which records have ended, in Unix milliseconds.
   */
  #forget(nowMs: number): number {
    const endedMs = this.#forgetClock.now(nowMs);
    this.#statements.forgetIssued.run(endedMs);
    for (const { jti } of this.#statements.forgetRevoked.all(endedMs)) this.#forgotten.push(String(jti));
    return endedMs;
  }

  /** Enforces the quota of the token's family, and deletes expired tokens of a family with too many records. */
  #makeRoom({ parents, task }: Payload, nowMs: number, endedMs: number, most: number): void {
    const family = parents?.at(-1);
    if (family === undefined || most === Infinity) return;
    const kind = task === undefined ? 1 : 0;
    // Named tasks have one token each, and the task store counts the tasks.
    if (kind === 1 && countOf(this.#statements.unexpired.get(family, kind, nowMs + REMEMBERED_MS)) >= most) {
      throw tokensFull(most);
    }
    const surplus = countOf(this.#statements.family.get(family, kind)) + 1 - most;
    if (surplus <= 0) return;
    for (const row of this.#statements.ended.all(family, kind, endedMs + REMEMBERED_MS, surplus)) {
      const jti = String(row["jti"]);
      this.#statements.removeIssued.run(jti);
      this.#statements.removeUsed.run(jti);
      this.#statements.removeRevoked.run(jti);
      this.#forgotten.push(jti);
    }
  }

  #write(consequence: string, change: () => void): Promise<void> | void {
    return this.#database.whenUnlocked(() => this.#writeNow(consequence, change));
  }

  #writeNow(consequence: string, change: () => void): void {
    this.#forgotten = [];
    try {
      this.#database.transaction(change);
      for (const jti of this.#forgotten) this.#revoked.delete(jti);
    } catch (error) {
      if (error instanceof Problem) throw error;
      throw new Problem("store_unavailable", `the token store cannot be written; ${consequence}`, {
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
