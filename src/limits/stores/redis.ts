import { COMMAND_MS } from "../../redis/client.ts";
import { HASH_CHARS, type RedisLink, redisScript, type Script, unavailable } from "../../redis/link.ts";
import { ServerTime } from "../../redis/server-time.ts";
import { conclude, type OpenUsage, untouched } from "../decide.ts";
import type { Charge, Decision, KeyReading, LimitStore } from "../limiter.ts";
import type { LimitVector } from "../windows.ts";
import { limitScript, liveScript } from "./redis/script.ts";

/** What the script answers first. */
const TOO_LATE = -1;

/**
 * Counts in a Redis that several nodes share: one script a decision, over all its keys, in one round trip.
 *
 * A decision that nobody waits for any more is not made: each carries the time of Redis by which it must be, so that what
 * a Redis finds in its buffers after a pause changes nothing. One whose answer is lost on the way stays counted, though
 * its run was not started.
 */
export class RedisStore implements LimitStore {
  readonly #link: RedisLink;
  readonly #script: Script;
  readonly #live: Script;
  readonly #clockKey: string;
  readonly #namesKey: string;
  readonly #serverTime = new ServerTime();

  /** @param time what is counted by in place of the time of Redis, in its own language; for tests */
  constructor(link: RedisLink, time?: string) {
    this.#link = link;
    this.#script = redisScript(limitScript(time));
    this.#live = redisScript(liveScript(time));
    this.#clockKey = link.key("clock");
    this.#namesKey = link.key("names");
  }

  async admit(charges: readonly Charge[]): Promise<Decision> {
    const answer = new Answer(await this.#decide("admit", charges));
    return conclude(charges.map((charge) => answer.usage(charge)));
  }

  async read(charge: Charge): Promise<KeyReading> {
    return new Answer(await this.#decide("read", [charge])).reading(charge);
  }

  async reset(key: string): Promise<void> {
    await this.#run("reset", [this.#link.hashedKey(key)], []);
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

  #decide(what: "admit" | "read", charges: readonly Charge[]): Promise<readonly number[]> {
    const logs = charges.map((charge) => this.#link.hashedKey(charge.key));
    const words = charges.flatMap(({ key, limits }, at) => {
      const name = LISTED.test(key) ? `${key}${AFTER_NAME}${logs[at]!.slice(-HASH_CHARS)}` : "";
      return [name, ...tracked(limits)];
    });
    return this.#run(what, logs, words);
  }

  async #run(what: string, logs: readonly string[], words: readonly (string | number)[]): Promise<readonly number[]> {
    const keys = [this.#clockKey, this.#namesKey, ...logs];
    const sentMs = performance.now();
    const byMs = this.#serverTime.at(sentMs + COMMAND_MS);
    const answer = await this.#link.run(this.#script, keys, [what, byMs, ...words]);
    const [verdict, serverMs] = answer as number[];
    const late = verdict === TOO_LATE;
    this.#serverTime.told(serverMs!, sentMs, late);
    if (late) throw unavailable(new Error("the time of Redis had gone on when it came to the decision"));
    return answer as number[];
  }
}

/** Listed is a name with its hash: the name that stands before others in order of its bytes, and the key of its log. */
const LISTED = /^[!-~]{1,256}$/;
/** It sorts before all characters of names. */
const AFTER_NAME = " ";
const NAME_END = AFTER_NAME.length + HASH_CHARS;

/** How many windows are tracked, then the place and the limit of each: what a holder's runs have in common. */
function tracked(limits: LimitVector): readonly number[] {
  let words = trackedWords.get(limits);
  if (!words) {
    const windows = limits.flatMap((limit, window) => (limit === 0 ? [] : [window + 1, limit]));
    words = [windows.length / 2, ...windows];
    trackedWords.set(limits, words);
  }
  return words;
}

const trackedWords = new WeakMap<LimitVector, readonly number[]>();

/** The numbers of the script, in order. */
class Answer {
  readonly #numbers: readonly number[];
  #at = 2;

  constructor(numbers: readonly number[]) {
    this.#numbers = numbers;
  }

  usage(charge: Charge): OpenUsage {
    const usage = untouched(charge);
    for (const [window, limit] of charge.limits.entries()) {
      if (limit === 0) continue;
      usage.remaining[window] = this.#next();
      usage.resetMs[window] = this.#next();
    }
    return usage;
  }

  reading(charge: Charge): KeyReading {
    const used = charge.limits.map(() => this.#next());
    return { ...this.usage(charge), used };
  }

  #next(): number {
    return this.#numbers[this.#at++]!;
  }
}
