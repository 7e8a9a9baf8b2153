import { Problem } from "../../errors.ts";
import { FairQueue } from "../../fair-queue.ts";
import { HASH_CHARS, type RedisLink, redisScript, type Script, unavailable } from "../../redis/redis-link.ts";
import { RedisBusy } from "../../redis/redis-replies.ts";
import { ServerTime } from "../../redis/server-time.ts";
import { conclude } from "../decide.ts";
import { distinctPrefixes } from "../prefixes.ts";
import type { Charge, Decision, KeyReading, LimitStore } from "../store.ts";
import { RecentFailure } from "./recent-failure.ts";
import { LimitReply, LimitRequest } from "./redis/protocol.ts";
import { limitScript, liveScript } from "./redis/script.ts";

/** The most decisions in one script call. This many block other users of Redis for one or two milliseconds. */
const MAX_DECISIONS = 128;
/**
 * The simultaneous reads for lists. Decisions wait behind them in Redis and on the connection: 32 lists of a token at once would
 * delay the runs of all callers beyond their deadline.
 */
const MAX_LISTED_READS = 2;
/** The number of hashed names in the cache. A full cache is cleared. */
const MAX_CACHED_HASHES = 10_000;

interface PendingDecision {
  readonly charges: readonly Charge[];
  readonly resolve: (decision: Decision) => void;
  readonly reject: (reason: unknown) => void;
}

/**
 * Counts in a Redis that several nodes share. All decisions of one turn of the event loop are one script call, in one round
 * trip. The script makes each decision separately, over all its keys.
 *
 * Each decision carries a deadline by the clock of Redis. After it no run waits for the decision, and the script does not
 * make it. So requests that a Redis finds in its buffers after a pause change nothing. If a reply is lost on the way, the
 * decision stays counted, though its run was not started.
 */
export class RedisLimitStore implements LimitStore {
  readonly #link: RedisLink;
  readonly #script: Script;
  readonly #live: Script;
  readonly #clockKey: string;
  readonly #namesKey: string;
  readonly #serverTime = new ServerTime();
  readonly #listed = new FairQueue(MAX_LISTED_READS);
  readonly #logKeys = new Map<string, string>();
  readonly #recent = new RecentFailure();
  #pending: PendingDecision[] = [];

  /** @param time the Lua expression of a time that replaces the time of Redis, for tests */
  constructor(link: RedisLink, time?: string) {
    this.#link = link;
    this.#script = redisScript(limitScript(time));
    this.#live = redisScript(liveScript(time));
    this.#clockKey = link.key("clock");
    this.#namesKey = link.key("names");
  }

  get failure(): Error | null {
    return this.#recent.failure;
  }

  admit(charges: readonly Charge[]): Promise<Decision> {
    return new Promise((resolve, reject) => {
      const count = this.#pending.push({ charges, resolve, reject });
      if (count === 1) setImmediate(this.#flush);
      if (count === MAX_DECISIONS) this.#flush();
    });
  }

  read(charges: readonly Charge[], holder?: string): Promise<KeyReading[]> {
    return holder === undefined ? this.#read(charges) : this.#listed.run(holder, () => this.#read(charges));
  }

  async #read(charges: readonly Charge[]): Promise<KeyReading[]> {
    this.#flush();
    const reply = await this.#request(
      "read",
      charges.map((charge) => [charge]),
    );
    return charges.map((charge) => orUnavailable(() => reply.reading(charge)));
  }

  async reset(key: string): Promise<void> {
    this.#flush();
    await this.#run("reset", [this.#logKey(key)], []);
  }

  /** Lists keys of printable ASCII, such as the names of containers and tokens. Other keys are not listed. */
  async keys(prefixes: readonly string[], after: string, count: number, holder = ""): Promise<string[]> {
    const keys: string[] = [];
    for (const prefix of distinctPrefixes(prefixes)) {
      if (keys.length === count) break;
      // All keys with this prefix are before the page.
      if (after > prefix && !after.startsWith(prefix)) continue;
      const read = (): Promise<string[]> => this.#keysOf(prefix, after, count - keys.length);
      keys.push(...(await this.#link.readLarge(holder, read)));
    }
    return keys;
  }

  async #keysOf(prefix: string, after: string, count: number): Promise<string[]> {
    const keys: string[] = [];
    let from = after < prefix ? `[${prefix}` : `(${after}${SEPARATOR}\u{7f}`;
    while (keys.length < count) {
      const wanted = count - keys.length;
      const range = [from, `[${prefix}\u{7f}`, "BYLEX", "LIMIT", 0, wanted] as const;
      const names = (await this.#link.call("ZRANGE", this.#namesKey, ...range)) as string[];
      if (names.length === 0) break;
      const live = await this.#areLive(names);
      for (const [at, name] of names.entries()) if (live[at] === 1) keys.push(name.slice(0, -SUFFIX_CHARS));
      if (names.length < wanted) break;
      from = `(${names.at(-1)!}`;
    }
    return keys;
  }

  /** Does nothing: the link is closed by its owner. */
  close(): Promise<void> {
    return Promise.resolve();
  }

  async #areLive(names: readonly string[]): Promise<readonly number[]> {
    const logs = names.map((name) => this.#link.key(name.slice(-HASH_CHARS)));
    return (await this.#link.run(this.#live, [this.#clockKey, this.#namesKey, ...logs], names)) as number[];
  }

  /** Sends the pending decisions. Later requests are sent after them. */
  readonly #flush = (): void => {
    if (this.#pending.length === 0) return;
    const decisions = this.#pending;
    this.#pending = [];
    void this.#decide(decisions);
  };

  async #decide(decisions: readonly PendingDecision[]): Promise<void> {
    try {
      const reply = await this.#request(
        "admit",
        decisions.map(({ charges }) => charges),
      );
      this.#recent.succeeded();
      for (const { charges, resolve, reject } of decisions) {
        try {
          resolve(orUnavailable(() => conclude(reply.usage(charges))));
        } catch (error) {
          reject(error);
        }
      }
    } catch (error) {
      const cause = error instanceof Problem ? error.cause : error;
      // The link reports its loss itself, and its return at once.
      if (!(cause instanceof RedisBusy) && this.#link.lost === null) this.#recent.failed(cause);
      for (const { reject } of decisions) reject(error);
    }
  }

  #request(what: "admit" | "read", decisions: readonly (readonly Charge[])[]): Promise<LimitReply> {
    const { logs, packed } = new LimitRequest(decisions);
    const names = [...logs.keys()];
    const listed = names.map((name) => (LISTED.test(name) ? name : ""));
    return this.#run(
      what,
      names.map((name) => this.#logKey(name)),
      [packed, ...listed],
    );
  }

  async #run(what: string, logs: readonly string[], args: readonly (string | Buffer)[]): Promise<LimitReply> {
    const keys = [this.#clockKey, this.#namesKey, ...logs];
    const sentMs = performance.now();
    const deadlineMs = this.#serverTime.at(sentMs + this.#link.commandMs);
    const packed = await this.#link.runPacked(this.#script, keys, [what, deadlineMs, ...args]);
    const reply = new LimitReply(packed as Buffer[]);
    this.#serverTime.observe(reply.serverMs, sentMs, !reply.inTime);
    if (!reply.inTime) throw unavailable(new RedisBusy("Redis received the decision after its deadline"));
    return reply;
  }

  #logKey(name: string): string {
    let key = this.#logKeys.get(name);
    if (key === undefined) {
      if (this.#logKeys.size >= MAX_CACHED_HASHES) this.#logKeys.clear();
      key = this.#link.hashedKey(name);
      this.#logKeys.set(name, key);
    }
    return key;
  }
}

/** Reads a part of a reply. @throws {Problem} `store_unavailable` when Redis could not make that decision. */
function orUnavailable<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw unavailable(error);
  }
}

/** Names that are listed. An entry of the list is a name, which orders the entries by bytes, and the hash in its log's key. */
const LISTED = /^[!-~]{1,256}$/;
/** A separator that sorts before all characters of names. */
const SEPARATOR = " ";
const SUFFIX_CHARS = SEPARATOR.length + HASH_CHARS;
