import { Problem } from "../../errors.ts";
import type { Feed } from "../../redis/feed.ts";
import type { RedisLink } from "../../redis/redis-link.ts";
import { type Claims, isJti } from "../claims.ts";
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
import { ADD_USE, RECORD } from "./redis-scripts.ts";
import { type RevocationRecord, type Revocations, REVOKED } from "./revocations.ts";

/** The number of index entries that one read returns. */
const SCANNED = 1_000;

/** The token store that nodes share through Redis. Records are in Redis, revocations also in the memory of each node. */
export class RedisTokenStore implements TokenStore {
  readonly #link: RedisLink;
  readonly #feed: Feed;
  readonly #revocations: Revocations;

  constructor(link: RedisLink, feed: Feed, revocations: Revocations) {
    this.#link = link;
    this.#feed = feed;
    this.#revocations = revocations;
  }

  async record(
    payload: Payload,
    issuedBy: string,
    issuedAt: number,
    kids: readonly string[] = [],
    most: number = Infinity,
  ): Promise<void> {
    const { jti, exp, parents, task } = payload;
    const record = JSON.stringify({ payload, issuedBy, issuedAt, kids });
    const forget = exp === undefined ? "" : forgetAt(exp, LEEWAY_S);
    const family = parents?.at(-1);
    const isCounted = family !== undefined && exp !== undefined && most !== Infinity;
    const keys = [this.#index, this.#key(jti), this.#useKey(jti), this.#familyKey(family ?? jti, task)];
    const [kid] = kids;
    if (kid !== undefined) keys.push(this.#signedKey(kid));
    const ends = isCounted ? forgetAt(exp, LEEWAY_S) - REMEMBERED_MS : 0;
    const counts = task === undefined ? 1 : 0;
    const quota = [ends, isCounted ? most : -1, counts, this.#familyMember(jti)];
    const args = [jti, record, forget, issuedAt, ...quota, this.#belowKey(""), ...(parents ?? [])];
    if ((await this.#link.run(RECORD, keys, args)) === 0) throw tokensFull(most);
  }

  async issued(jti: string): Promise<IssuedToken | undefined> {
    const text = await this.#link.call("GET", this.#key(jti));
    return typeof text === "string" ? issuedOf(text) : undefined;
  }

  list(after: string, count: number): Promise<IssuedToken[]> {
    return this.#page(this.#index, "", after, count);
  }

  listBelow({ jti, parents }: Lineage, after: string, count: number): Promise<IssuedToken[]> {
    return this.#page(this.#belowKey(jti), parents.at(-1) ?? jti, after, count);
  }

  /** @param holder the `holder` argument of `readLarge` */
  async #page(index: string, holder: string, after: string, count: number): Promise<IssuedToken[]> {
    const found: IssuedToken[] = [];
    let cursor = after;
    // As few as are wanted, because a record may have ten kilobytes. More only while the index has names without a record.
    for (let scanned = count; found.length < count; scanned *= 2) {
      const from = cursor === "" ? "-" : `(${cursor}`;
      const range = [index, from, "+", "LIMIT", 0, Math.min(scanned, SCANNED)] as const;
      const jtis = (await this.#link.call("ZRANGEBYLEX", ...range)) as string[];
      if (jtis.length === 0) break;
      cursor = jtis.at(-1)!;
      const keys = jtis.map((jti) => this.#key(jti));
      const texts = (await this.#link.readLarge(holder, () => this.#link.call("MGET", ...keys))) as (string | null)[];
      const gone = jtis.filter((_, at) => texts[at] === null);
      if (gone.length > 0) await this.#link.call("ZREM", index, ...gone);
      for (const text of texts) if (text !== null) found.push(issuedOf(text));
    }
    return found.slice(0, count);
  }

  async revoke(jti: string, revokedBy: string, nowMs: number, end: number | null = null): Promise<boolean> {
    if (!isJti(jti)) {
      throw new Problem("request_invalid", "the jti is not valid: it must be a UUID in lower case");
    }
    const issued = await this.issued(jti);
    const exp = issued ? issued.claims.exp : end;
    const forget = exp === null ? null : forgetAt(exp, LEEWAY_S);
    // The first revocation stays on record, whichever node wrote it. Redis is checked, not this node's memory: if Redis has
    // lost the revocation, a node that starts later would not receive it.
    const isRecorded = (await this.revocation(jti)) !== undefined;
    if (!isRecorded) {
      const record: RevocationRecord = { revokedBy, revokedAt: nowMs, ...(forget !== null && { until: forget }) };
      await this.#feed.publish(REVOKED, jti, JSON.stringify(record), forget);
    }
    this.#revocations.add([jti], forget ?? Infinity);
    return !isRecorded;
  }

  async retire(jti: string, nowMs: number): Promise<void> {
    const forget = forgetAt(Math.floor(nowMs / 1_000), LEEWAY_S);
    const claims = (await this.issued(jti))?.claims;
    const family = claims?.parents.at(-1);
    if (family !== undefined) {
      const [key, member] = [this.#familyKey(family, claims?.task ?? undefined), this.#familyMember(jti)];
      await this.#link.call("ZADD", key, "XX", "LT", forget - REMEMBERED_MS, member);
    }
    for (const above of claims?.parents ?? []) {
      await this.#link.call("ZADD", `${this.#belowKey(above)}:ends`, "XX", "LT", forget, jti);
    }
    for (const key of [this.#key(jti), this.#useKey(jti)]) await this.#link.call("PEXPIREAT", key, forget, "LT");
    const [text] = await this.#feed.values(REVOKED, [jti]);
    if (!text) return;
    // With a different text, because publishing the same text again changes nothing, including its expiry.
    const retired = { ...(JSON.parse(text) as RevocationRecord), retired: true, until: forget };
    await this.#feed.publish(REVOKED, jti, JSON.stringify(retired), forget);
  }

  isRevoked(jti: string): boolean {
    this.#feed.mustBeFresh();
    return this.#revocations.has(jti);
  }

  async revocation(jti: string): Promise<Revocation | undefined> {
    const [text] = await this.#feed.values(REVOKED, [jti]);
    if (!text) return undefined;
    const { revokedBy, revokedAt } = JSON.parse(text) as RevocationRecord;
    return { by: revokedBy, at: revokedAt };
  }

  async isKeyUsed(kid: string, nowMs: number): Promise<boolean> {
    const signed = this.#signedKey(kid);
    const unexpired = [`(${nowMs + REMEMBERED_MS}`, "+inf"] as const;
    // Each page is the first one, because revoked tokens and tokens without a record are removed.
    for (;;) {
      const jtis = (await this.#link.call("ZRANGEBYSCORE", signed, ...unexpired, "LIMIT", 0, SCANNED)) as string[];
      if (jtis.length === 0) return false;
      const texts = (await this.#link.call("MGET", ...jtis.map((jti) => this.#key(jti)))) as (string | null)[];
      if (texts.some((text) => text !== null && !this.#isOver(issuedOf(text).claims))) return true;
      await this.#link.call("ZREM", signed, ...jtis);
    }
  }

  #isOver({ jti, parents }: Claims): boolean {
    return [jti, ...parents].some((each) => this.isRevoked(each));
  }

  async addUse(uses: ReadonlyMap<string, TokenUse>): Promise<void> {
    const keys = [...uses.keys()].flatMap((jti) => [this.#key(jti), this.#useKey(jti)]);
    await this.#link.run(
      ADD_USE,
      keys,
      [...uses.values()].flatMap(({ runs, lastMs }) => [runs, lastMs]),
    );
  }

  async use(jti: string): Promise<TokenUse | undefined> {
    const [runs, lastMs] = (await this.#link.call("HMGET", this.#useKey(jti), "runs", "last")) as (string | null)[];
    return lastMs ? { runs: Number(runs), lastMs: Number(lastMs) } : undefined;
  }

  onRevoked(listener: (jtis: readonly string[]) => void): void {
    this.#revocations.listeners.push(listener);
  }

  /** Does nothing: link and feed are closed by their owner. */
  close(): void {}

  get #index(): string {
    return this.#link.key("tokens:issued");
  }

  /** Returns the key of the list of tokens that a signing key has signed. */
  #signedKey(kid: string): string {
    return this.#link.key(`tokens:signed:${kid}`);
  }

  /** Returns the key of the list of tokens below a token. The script appends the `jti`s of the tokens above itself. */
  #belowKey(jti: string): string {
    return this.#link.key(`tokens:below:${jti}`);
  }

  #useKey(jti: string): string {
    return `${this.#link.hashedKey(`issued:${jti}`)}:used`;
  }

  /** Returns the key of a family's list of tokens. Tokens of named tasks have their own list. */
  #familyKey(family: string, task: string | undefined): string {
    const kind = task === undefined ? "tokens" : "tasks";
    return `${this.#link.hashedKey(`family:${family}`)}:family:${kind}`;
  }

  /** Returns the entry of a token in its family's list, with the keys of its records for the script that deletes them. */
  #familyMember(jti: string): string {
    return `${jti} ${this.#key(jti)} ${this.#useKey(jti)}`;
  }

  #key(jti: string): string {
    return `${this.#link.hashedKey(`issued:${jti}`)}:issued`;
  }
}

interface StoredToken {
  readonly payload: unknown;
  readonly issuedBy: string;
  readonly issuedAt: number;
  readonly kids: readonly string[];
}

function issuedOf(text: string): IssuedToken {
  const { payload, ...issued } = JSON.parse(text) as StoredToken;
  return { claims: claimsOf(payload), ...issued };
}
