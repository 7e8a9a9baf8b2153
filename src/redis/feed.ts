import { setTimeout as pause } from "node:timers/promises";

import { type RedisLink, redisScript, unavailable } from "./link.ts";
import { ServerTime } from "./server-time.ts";

/** How often each node asks for what others have changed, in milliseconds. */
const POLL_MS = 500;
const OPEN_MS = 5_000;

/** What a node keeps in memory of something that all share. */
export interface Topic {
  /** It names its keys. */
  readonly name: string;
  /** Told which members have changed since the last time, at first all. What it throws is tried again. */
  readonly changed: (members: readonly string[]) => Promise<void> | void;
}

/**
 * What changes on one node becomes known on all: each topic is a sorted set of its members by the number of their last
 * change, and each node asks for what is newer than it has seen.
 *
 * It is asked and not told: a subscription that has silently died looks like one on which nothing happens, while a node
 * that gets no answers knows that it does not know. How long it may go on so is for the operator to say.
 */
export class Feed {
  readonly #link: RedisLink;
  readonly #topics: readonly Topic[];
  readonly #lagMs: number;
  readonly #serverTime = new ServerTime();
  readonly #seen: number[];
  /** When the last poll that was answered was sent, or minus infinity. */
  #knownMs = -Infinity;
  #timer: NodeJS.Timeout | undefined;
  #closed = false;

  /** @param lagMs for how long what is known may be old */
  constructor(link: RedisLink, topics: readonly Topic[], lagMs: number) {
    this.#link = link;
    this.#topics = topics;
    this.#lagMs = lagMs;
    this.#seen = topics.map(() => 0);
  }

  /** Reads all that there is, and goes on from there. @throws {Error} when it cannot be read. */
  async open(): Promise<void> {
    const giveUpMs = performance.now() + OPEN_MS;
    for (;;) {
      try {
        await this.#poll();
        break;
      } catch (error) {
        if (performance.now() > giveUpMs) throw error;
        await pause(POLL_MS);
      }
    }
    this.#next();
  }

  /** @throws {Problem} `store_unavailable` when what is known is too old to be relied on. */
  mustBeFresh(): void {
    if (performance.now() - this.#knownMs <= this.#lagMs) return;
    throw unavailable(new Error("what other nodes have changed is not known"));
  }

  /**
   * Changes a member, for all nodes: those that are told read what it has become.
   *
   * @param value what it is from now on, or null for nothing; kept under its name
   * @param forgetAt when it need not be known any more, in Unix milliseconds, or null
   * @throws {Problem} `store_unavailable`, and then nothing has changed, unless the answer was lost on the way.
   */
  async publish(topic: string, member: string, value: string | null, forgetAt: number | null = null): Promise<boolean> {
    const sentMs = performance.now();
    const byMs = this.#serverTime.at(sentMs + this.#link.commandMs);
    const words = [byMs, member, value === null ? "0" : "1", value ?? "", forgetAt ?? "", Date.now()];
    const [verdict, serverMs] = (await this.#link.run(PUBLISH, this.#keys(topic), words)) as [number, number];
    this.#serverTime.told(serverMs, sentMs, verdict < 0);
    if (verdict < 0) throw unavailable(new Error("the time of Redis had gone on when it came to the change"));
    return verdict === 1;
  }

  /** The values of members, `null` for those that have none. */
  async values(topic: string, members: readonly string[]): Promise<readonly (string | null)[]> {
    if (members.length === 0) return [];
    return (await this.#link.call("HMGET", this.#keys(topic)[2], ...members)) as (string | null)[];
  }

  close(): void {
    this.#closed = true;
    clearTimeout(this.#timer);
  }

  #next(): void {
    if (this.#closed) return;
    this.#timer = setTimeout(async () => {
      try {
        await this.#poll();
      } catch {
        // The link tells of it. What is known gets older.
      }
      this.#next();
    }, POLL_MS);
  }

  async #poll(): Promise<void> {
    const sentMs = performance.now();
    const keys = this.#topics.flatMap(({ name }) => this.#keys(name).slice(0, 2));
    const answer = (await this.#link.run(POLL, keys, this.#seen)) as [number, ...[number, string[]][]];
    const [serverMs, ...changes] = answer;
    this.#serverTime.told(serverMs, sentMs, false);
    for (const [at, [newest, members]] of changes.entries()) {
      if (members.length > 0) await this.#topics[at]!.changed(members);
      this.#seen[at] = newest;
    }
    this.#knownMs = sentMs;
  }

  #keys(topic: string): [number: string, changes: string, values: string, ends: string] {
    const key = (what: string): string => this.#link.key(`${topic}:${what}`);
    return [key("number"), key("changes"), key("values"), key("ends")];
  }
}

/** For each topic its newest number and the members that changed after the one that was seen. */
const POLL = redisScript(`
local time = redis.call("TIME")
local answer = {time[1] * 1000 + math.floor(time[2] / 1000)}
for at = 1, #KEYS, 2 do
  local newest, seen = redis.call("GET", KEYS[at]) or "0", ARGV[(at + 1) / 2]
  local members = newest == seen and {} or redis.call("ZRANGEBYSCORE", KEYS[at + 1], "(" .. seen, "+inf")
  answer[#answer + 1] = {tonumber(newest), members}
end
return answer
`);

/**
 * Forgets what has ended by both clocks, that of Redis and that of the node: one that is set ahead would forget revocations of
 * tokens that are valid when it is right again.
 *
 * Numbers are microseconds of the time of Redis, or more: so those of a Redis that has lost its memory are new to all.
 * Answers with 1 when something has changed, 0 when it was so already, -1 when it came too late, and the time of Redis.
 */
const PUBLISH = redisScript(`
local time = redis.call("TIME")
local raw = time[1] * 1000 + math.floor(time[2] / 1000)
if raw > tonumber(ARGV[1]) then return {-1, raw} end
local member, value = ARGV[2], ARGV[4]
local over = string.format("%.0f", math.min(raw, tonumber(ARGV[6])))
for _, old in ipairs(redis.call("ZRANGEBYSCORE", KEYS[4], "-inf", "(" .. over, "LIMIT", 0, 100)) do
  redis.call("ZREM", KEYS[4], old)
  redis.call("ZREM", KEYS[2], old)
  redis.call("HDEL", KEYS[3], old)
end
local before = redis.call("HGET", KEYS[3], member)
if ARGV[3] == "1" then
  if before == value then return {0, raw} end
  redis.call("HSET", KEYS[3], member, value)
else
  if not before then return {0, raw} end
  redis.call("HDEL", KEYS[3], member)
end
local number = math.max(time[1] * 1000000 + time[2], tonumber(redis.call("GET", KEYS[1]) or "0") + 1)
number = string.format("%.0f", number)
redis.call("SET", KEYS[1], number)
redis.call("ZADD", KEYS[2], number, member)
if ARGV[5] ~= "" then redis.call("ZADD", KEYS[4], ARGV[5], member) end
return {1, raw}
`);
