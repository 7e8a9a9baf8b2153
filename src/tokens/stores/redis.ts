import { Problem } from "../../errors.ts";
import type { Feed, Topic } from "../../redis/feed.ts";
import { type RedisLink, redisScript } from "../../redis/link.ts";
import { type Claims, isJti } from "../claims.ts";
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

const REVOKED = "revoked";
/** The number of index entries that one read returns. */
const SCANNED = 1_000;

/**
 * Writes the record and the index together, because a listing removes names without a record from the index, and would never find
 * the token again. Also enforces the quota of the family: the family lists its tokens by their end, each with the keys of its
 * records. Also lists the tokens of each signing key, by the time when their records are deleted.
 */
const RECORD = redisScript(`
local jti, record, forget, ends, most, counts = ARGV[1], ARGV[2], ARGV[3], ARGV[5], tonumber(ARGV[6]), ARGV[7]
if most >= 0 then
  local family, time = KEYS[4], redis.call("TIME")
  -- A token that is valid by either of the two clocks is not deleted, and counts.
  local now = string.format("%.0f", math.min(tonumber(ARGV[4]), time[1] * 1000 + math.floor(time[2] / 1000)))
  if counts == "1" and redis.call("ZCOUNT", family, "(" .. now, "+inf") >= most then return 0 end
  local surplus = redis.call("ZCARD", family) + 1 - most
  if surplus > 0 then
    for _, ended in ipairs(redis.call("ZRANGEBYSCORE", family, "-inf", "(" .. now, "LIMIT", 0, surplus)) do
      local old, issued, used = string.match(ended, "^(%S+) (%S+) (%S+)$")
      redis.call("DEL", issued, used)
      redis.call("ZREM", KEYS[1], old)
      redis.call("ZREM", family, ended)
    end
  end
  redis.call("ZADD", family, ends, ARGV[8])
  local last = redis.call("ZRANGE", family, -1, -1, "WITHSCORES")[2]
  redis.call("PEXPIREAT", family, string.format("%.0f", tonumber(last) + ${REMEMBERED_MS}))
end
redis.call("ZADD", KEYS[1], 0, jti)
if KEYS[5] then
  redis.call("ZREMRANGEBYSCORE", KEYS[5], "-inf", "(" .. ARGV[4])
  redis.call("ZADD", KEYS[5], forget == "" and "+inf" or forget, jti)
end
if forget == "" then redis.call("SET", KEYS[2], record)
else redis.call("SET", KEYS[2], record, "PXAT", forget) end
return 1
`);

/** Adds the use of tokens. The keys are the record and the use of each token. The use expires with the record. */
const ADD_USE = redisScript(`
for at = 1, #KEYS, 2 do
  local ttl, use = redis.call("PTTL", KEYS[at]), KEYS[at + 1]
  if ttl ~= -2 then
    redis.call("HINCRBY", use, "runs", ARGV[at])
    local last = tonumber(redis.call("HGET", use, "last") or "0")
    if tonumber(ARGV[at + 1]) > last then redis.call("HSET", use, "last", ARGV[at + 1]) end
    if ttl > 0 then redis.call("PEXPIRE", use, ttl) end
  end
end
`);

/** The revocations in the memory of a node. A node never drops one, even if Redis loses it. */
export class Revocations implements Topic {
  readonly name: string = REVOKED;
  readonly #revoked = new Set<string>();
  /** Called with new revocations, in order. */
  readonly listeners: ((jtis: readonly string[]) => void)[] = [];

  changed(members: readonly string[]): void {
    const added = members.filter((jti) => !this.#revoked.has(jti));
    for (const jti of added) this.#revoked.add(jti);
    if (added.length > 0) for (const listener of this.listeners) listener(added);
  }

  has(jti: string): boolean {
    return this.#revoked.has(jti);
  }
}

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
    const args = [jti, record, forget, issuedAt, ends, isCounted ? most : -1, counts, this.#familyMember(jti)];
    if ((await this.#link.run(RECORD, keys, args)) === 0) throw tokensFull(most);
  }

  async issued(jti: string): Promise<IssuedToken | undefined> {
    const text = await this.#link.call("GET", this.#key(jti));
    return typeof text === "string" ? issuedOf(text) : undefined;
  }

  async list(after: string, count: number): Promise<IssuedToken[]> {
    const found: IssuedToken[] = [];
    let cursor = after;
    // As few as are wanted, because a record may have ten kilobytes. More only while the index has names without a record.
    for (let scanned = count; found.length < count; scanned *= 2) {
      const from = cursor === "" ? "-" : `(${cursor}`;
      const range = [this.#index, from, "+", "LIMIT", 0, Math.min(scanned, SCANNED)] as const;
      const jtis = (await this.#link.call("ZRANGEBYLEX", ...range)) as string[];
      if (jtis.length === 0) break;
      cursor = jtis.at(-1)!;
      const keys = jtis.map((jti) => this.#key(jti));
      const texts = (await this.#link.readLarge("", () => this.#link.call("MGET", ...keys))) as (string | null)[];
      const gone = jtis.filter((_, at) => texts[at] === null);
      if (gone.length > 0) await this.#link.call("ZREM", this.#index, ...gone);
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
      await this.#feed.publish(REVOKED, jti, JSON.stringify({ revokedBy, revokedAt: nowMs }), forget);
    }
    this.#revocations.changed([jti]);
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
    for (const key of [this.#key(jti), this.#useKey(jti)]) await this.#link.call("PEXPIREAT", key, forget, "LT");
    const [text] = await this.#feed.values(REVOKED, [jti]);
    if (!text) return;
    // With a different text, because publishing the same text again changes nothing, including its expiry.
    const retired = { ...(JSON.parse(text) as object), retired: true };
    await this.#feed.publish(REVOKED, jti, JSON.stringify(retired), forget);
  }

  isRevoked(jti: string): boolean {
    this.#feed.mustBeFresh();
    return this.#revocations.has(jti);
  }

  async revocation(jti: string): Promise<Revocation | undefined> {
    const [text] = await this.#feed.values(REVOKED, [jti]);
    if (!text) return undefined;
    const { revokedBy, revokedAt } = JSON.parse(text) as { revokedBy: string; revokedAt: number };
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
