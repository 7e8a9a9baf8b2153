import { setTimeout as pause } from "node:timers/promises";

import { type RedisLink, redisScript, unavailable } from "./redis-link.ts";
import { ServerTime } from "./server-time.ts";

/** The milliseconds between two polls for the changes of other nodes. */
const POLL_MS = 500;
const OPEN_MS = 5_000;

/** Shared data of which each node has a copy in memory. */
export interface Topic {
  /** The prefix of its keys. */
  readonly name: string;
  /**
   * Receives the members that changed since the last call, and all members at the first call. If it throws, it is
   * called again.
   */
  readonly changed: (members: readonly string[]) => Promise<void> | void;
}

/**
 * Distributes changes of one node to all nodes. Each topic is a sorted set of its members by the number of their last
 * change, and each node polls for numbers above the highest that it has processed.
 *
 * Nodes poll and do not subscribe. A subscription that failed silently looks like one without changes, but a node whose
 * polls are not answered detects that its data is old. The operator configures how old it may become.
 */
export class Feed {
  readonly #link: RedisLink;
  readonly #topics: readonly Topic[];
  readonly #lagMs: number;
  readonly #serverTime = new ServerTime();
  readonly #seen: number[];
  /** The time at which the last answered poll was sent, or minus infinity. */
  #freshAsOfMs = -Infinity;
  #timer: NodeJS.Timeout | undefined;
  #closed = false;

  /** @param lagMs the maximum age of the node's data */
  constructor(link: RedisLink, topics: readonly Topic[], lagMs: number) {
    this.#link = link;
    this.#topics = topics;
    this.#lagMs = lagMs;
    this.#seen = topics.map(() => 0);
  }

  /** Reads all members, and then starts to poll. @throws {Error} if Redis cannot be read. */
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

  /** Whether the node's data is at most `lagMs` old. */
  get isFresh(): boolean {
    return performance.now() - this.#freshAsOfMs <= this.#lagMs;
  }

  /** @throws {Problem} `store_unavailable` if the node's data is older than `lagMs`. */
  mustBeFresh(): void {
    if (this.isFresh) return;
    throw unavailable(new Error("the changes of other nodes are not known"));
  }

  /**
   * Changes a member for all nodes. Each node then reads the new value.
   *
   * @param value the new value, or null to remove it
   * @param forgetAt the time in Unix milliseconds after which the change may be forgotten, or null
   * @returns whether the value was different before.
   * @throws {Problem} `store_unavailable`. Nothing has changed then, unless only the answer was lost.
   */
  async publish(topic: string, member: string, value: string | null, forgetAt: number | null = null): Promise<boolean> {
    return (await this.#send(topic, member, value, [forgetAt ?? "", Date.now()])) === CHANGED;
  }

  /**
   * Changes a member as `publish` does, if its value is still `known`.
   *
   * @returns false if the value is another. Then nothing has changed.
   */
  async replace(topic: string, member: string, known: string | null, value: string | null): Promise<boolean> {
    const condition = known === null ? ["none"] : ["same", known];
    return (await this.#send(topic, member, value, ["", Date.now(), ...condition])) !== OUTDATED;
  }

  async #send(
    topic: string,
    member: string,
    value: string | null,
    more: readonly (string | number)[],
  ): Promise<number> {
    const sentMs = performance.now();
    const byMs = this.#serverTime.at(sentMs + this.#link.commandMs);
    const parameters = [byMs, member, value === null ? "0" : "1", value ?? "", ...more];
    const [verdict, serverMs] = (await this.#link.run(PUBLISH, this.#keys(topic), parameters)) as [number, number];
    this.#serverTime.observe(serverMs, sentMs, verdict === LATE);
    if (verdict === LATE) throw unavailable(new Error("the change reached Redis after its deadline"));
    return verdict;
  }

  /** Returns the values of members, `null` for a member without a value. */
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
        // The link reports the failure, and `mustBeFresh` detects that the data is old.
      }
      this.#next();
    }, POLL_MS);
  }

  async #poll(): Promise<void> {
    const sentMs = performance.now();
    const keys = this.#topics.flatMap(({ name }) => this.#keys(name).slice(0, 2));
    const answer = (await this.#link.run(POLL, keys, this.#seen)) as [number, ...[number, string[]][]];
    const [serverMs, ...changes] = answer;
    this.#serverTime.observe(serverMs, sentMs, false);
    for (const [at, [newest, members]] of changes.entries()) {
      if (members.length > 0) await this.#topics[at]!.changed(members);
      this.#seen[at] = newest;
    }
    this.#freshAsOfMs = sentMs;
  }

  #keys(topic: string): [number: string, changes: string, values: string, ends: string] {
    const key = (what: string): string => this.#link.key(`${topic}:${what}`);
    return [key("number"), key("changes"), key("values"), key("ends")];
  }
}

/**
 * Returns, for each topic, its newest number and the members that changed after the number that the node has processed. If the
 * newest number is lower, as in a Redis that was restored, the node receives all members: any of them may be new to it.
 */
const POLL = redisScript(`
local time = redis.call("TIME")
local answer = {time[1] * 1000 + math.floor(time[2] / 1000)}
for at = 1, #KEYS, 2 do
  local newest, seen = redis.call("GET", KEYS[at]) or "0", ARGV[(at + 1) / 2]
  local above = tonumber(newest) < tonumber(seen) and "-inf" or "(" .. seen
  local members = newest == seen and {} or redis.call("ZRANGEBYSCORE", KEYS[at + 1], above, "+inf")
  answer[#answer + 1] = {tonumber(newest), members}
end
return answer
`);

/** The verdicts of `PUBLISH`; 0 if the value was equal before. */
const CHANGED = 1;
const LATE = -1;
const OUTDATED = -2;

/**
 * Changes a member, and removes members whose time has passed by the clock of Redis and by the clock of the node. A
 * single clock that is set ahead would remove revocations of tokens that are valid after the clock is corrected.
 *
 * Numbers are microseconds of the time of Redis, or higher, so that all nodes process the numbers of a Redis that has lost its
 * data. A number above 2^52 is no number of this script, and is not continued: above 2^53 the next one would be the same, and no
 * node would receive another change.
 *
 * With a condition, the value must be the same as the given one, or there must be none. Returns 1 if the value changed, 0 if it was
 * equal, -1 if the command came too late, -2 if the condition does not hold, and the time of Redis.
 */
const PUBLISH = redisScript(`
local farthest = 2 ^ 52
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
if ARGV[7] and before ~= (ARGV[7] == "same" and ARGV[8]) then return {-2, raw} end
if ARGV[3] == "1" then
  if before == value then return {0, raw} end
  redis.call("HSET", KEYS[3], member, value)
else
  if not before then return {0, raw} end
  redis.call("HDEL", KEYS[3], member)
end
local last = tonumber(redis.call("GET", KEYS[1]) or "0") or 0
if last > farthest then last = 0 end
local number = math.max(time[1] * 1000000 + time[2], last + 1)
number = string.format("%.0f", number)
redis.call("SET", KEYS[1], number)
redis.call("ZADD", KEYS[2], number, member)
if ARGV[5] ~= "" then redis.call("ZADD", KEYS[4], ARGV[5], member) end
return {1, raw}
`);
