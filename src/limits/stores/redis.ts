import { HASH_CHARS, type RedisLink, redisScript, type Script, unavailable } from "../../redis/link.ts";
import { ServerTime } from "../../redis/server-time.ts";
import { conclude } from "../decide.ts";
import type { Charge, Decision, KeyReading, LimitStore } from "../store.ts";
import { LimitReply, LimitRequest } from "./redis/protocol.ts";
import { limitScript, liveScript } from "./redis/script.ts";

/** So many decisions are asked at once at the most: others of Redis wait for a millisecond or two then. */
const MOST_AT_ONCE = 128;
/** So many names are hashed once; after that all are forgotten. */
const HASHES_KEPT = 10_000;

interface Waiting {
  readonly charges: readonly Charge[];
  readonly resolve: (decision: Decision) => void;
  readonly reject: (reason: unknown) => void;
}

/**
 * Counts in a Redis that several nodes share: all decisions of a turn of the event loop are one script, in one round trip.
 * Each is made for itself, over all its keys.
 *
 * A decision that nobody waits for any more is not made: each carries the time of Redis by which it must be, so that what
 * a Redis finds in its buffers after a pause changes nothing. One whose answer is lost on the way stays counted, though
 * its run was not started.
 */
export class RedisLimitStore implements LimitStore {
  readonly #link: RedisLink;
  readonly #script: Script;
  readonly #live: Script;
  readonly #clockKey: string;
  readonly #namesKey: string;
  readonly #serverTime = new ServerTime();
  readonly #logKeys = new Map<string, string>();
  #waiting: Waiting[] = [];

  /** @param time what is counted by in place of the time of Redis, in its own language; for tests */
  constructor(link: RedisLink, time?: string) {
    this.#link = link;
    this.#script = redisScript(limitScript(time));
    this.#live = redisScript(liveScript(time));
    this.#clockKey = link.key("clock");
    this.#namesKey = link.key("names");
  }

  admit(charges: readonly Charge[]): Promise<Decision> {
    return new Promise((resolve, reject) => {
      const waiting = this.#waiting.push({ charges, resolve, reject });
      if (waiting === 1) setImmediate(this.#flush);
      if (waiting === MOST_AT_ONCE) this.#flush();
    });
  }

  async read(charges: readonly Charge[]): Promise<KeyReading[]> {
    this.#flush();
    const answer = await this.#ask(
      "read",
      charges.map((charge) => [charge]),
    );
    return charges.map((charge) => made(() => answer.reading(charge)));
  }

  async reset(key: string): Promise<void> {
    this.#flush();
    await this.#run("reset", [this.#logKey(key)], []);
  }

  /** Of the keys that are printable ASCII, as names of containers and tokens are; others are not listed. */
  async keys(prefix: string, after: string, count: number): Promise<string[]> {
    const keys: string[] = [];
    let from = `(${after}${AFTER_NAME}\u{7f}`;
    while (keys.length < count) {
      const wanted = count - keys.length;
      const range = [from, `[${prefix}\u{7f}`, "BYLEX", "LIMIT", 0, wanted] as const;
      const names = (await this.#link.call("ZRANGE", this.#namesKey, ...range)) as string[];
      if (names.length === 0) break;
      const live = await this.#areLive(names);
      for (const [at, name] of names.entries()) if (live[at] === 1) keys.push(name.slice(0, -NAME_END));
      if (names.length < wanted) break;
      from = `(${names.at(-1)!}`;
    }
    return keys;
  }

  /** The link is closed by who opened it. */
  close(): Promise<void> {
    return Promise.resolve();
  }

  async #areLive(names: readonly string[]): Promise<readonly number[]> {
    const logs = names.map((name) => this.#link.key(name.slice(-HASH_CHARS)));
    return (await this.#link.run(this.#live, [this.#clockKey, this.#namesKey, ...logs], names)) as number[];
  }

  /** Sends what waits. What is asked after that comes after it. */
  readonly #flush = (): void => {
    if (this.#waiting.length === 0) return;
    const waiting = this.#waiting;
    this.#waiting = [];
    void this.#decide(waiting);
  };

  async #decide(waiting: readonly Waiting[]): Promise<void> {
    try {
      const answer = await this.#ask(
        "admit",
        waiting.map(({ charges }) => charges),
      );
      for (const { charges, resolve, reject } of waiting) {
        try {
          resolve(made(() => conclude(answer.usage(charges))));
        } catch (error) {
          reject(error);
        }
      }
    } catch (error) {
      for (const { reject } of waiting) reject(error);
    }
  }

  #ask(what: "admit" | "read", decisions: readonly (readonly Charge[])[]): Promise<LimitReply> {
    const { logs, words } = new LimitRequest(decisions);
    const names = [...logs.keys()];
    const listed = names.map((name) => (LISTED.test(name) ? name : ""));
    return this.#run(
      what,
      names.map((name) => this.#logKey(name)),
      [words, ...listed],
    );
  }

  async #run(what: string, logs: readonly string[], words: readonly (string | Buffer)[]): Promise<LimitReply> {
    const keys = [this.#clockKey, this.#namesKey, ...logs];
    const sentMs = performance.now();
    const byMs = this.#serverTime.at(sentMs + this.#link.commandMs);
    const answer = new LimitReply((await this.#link.runPacked(this.#script, keys, [what, byMs, ...words])) as Buffer[]);
    this.#serverTime.told(answer.serverMs, sentMs, !answer.inTime);
    if (!answer.inTime) throw unavailable(new Error("the time of Redis had gone on when it came to the decision"));
    return answer;
  }

  #logKey(name: string): string {
    let key = this.#logKeys.get(name);
    if (key === undefined) {
      if (this.#logKeys.size >= HASHES_KEPT) this.#logKeys.clear();
      key = this.#link.hashedKey(name);
      this.#logKeys.set(name, key);
    }
    return key;
  }
}

/** What Redis says of one decision. @throws {Problem} `store_unavailable` when it could not make it. */
function made<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw unavailable(error);
  }
}

/** Listed is a name with its hash: the name that stands before others in order of its bytes, and the key of its log. */
const LISTED = /^[!-~]{1,256}$/;
/** It sorts before all characters of names. */
const AFTER_NAME = " ";
const NAME_END = AFTER_NAME.length + HASH_CHARS;
