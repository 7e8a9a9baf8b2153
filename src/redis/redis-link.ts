import { createHash } from "node:crypto";

import type { Cluster, Redis } from "ioredis";

import { describePlace, type RedisPlace } from "../config/redis-place.ts";
import { Problem } from "../errors.ts";
import { FairQueue } from "../fair-queue.ts";
import { RedisBusy, Replies } from "./redis-replies.ts";

/** The default time limit of a command, in milliseconds. */
export const COMMAND_MS = 250;
/** The milliseconds between two probes of a Redis that does not answer. */
const PROBE_MS = 500;
/**
 * The number of consecutive unanswered probes after which the link reconnects, because a network may drop a connection
 * silently.
 */
const PROBES_A_CONNECTION = 8;
const OPEN_MS = 5_000;
/** The maximum number of simultaneous large reads. Each is up to 2 MB, which Redis and the node handle in a few milliseconds. */
const MAX_LARGE_READS = 8;
/** Refusals of a Redis that has no data: it reads them at its start, or has no master. No caller can bring them about. */
const AWAY = /^(?:LOADING|MASTERDOWN|CLUSTERDOWN) /;
/**
 * How long a Redis that has refused a write, because it is a replica, counts as reachable after the client has closed the connection.
 * The client does that to find the new master, and needs half a second or more.
 */
const REPLICA_MS = 5_000;
/** The characters of a name's hash in its key: 192 bits, so that an attacker cannot find two names with one hash. */
export const HASH_CHARS = 32;

export interface LinkOptions {
  /** The prefix of the keys of this service, so that several services can share a Redis. */
  readonly realm: string;
  /** A file of certificates that verify the server's certificate, or null for the system's certificates. */
  readonly authority?: string | null;
  /** The time limit of a command, in milliseconds. */
  readonly commandMs?: number;
  /** Called with the reason when the connection is lost, and with `null` when it is restored. */
  readonly onChange?: (reason: Error | null) => void;
}

/** An argument of a command. */
type Argument = string | number | Buffer;
type Command = readonly [name: string, ...args: Argument[]];
type IsRefusal = (error: unknown) => error is Error;

/**
 * The connection to Redis for all shared data, with a circuit breaker.
 *
 * A silent Redis or a broken connection opens the breaker. From then on all commands fail at once, and a probe
 * each half second detects when Redis answers again. No command is ever sent twice.
 */
export class RedisLink {
  readonly commandMs: number;
  readonly #client: Redis | Cluster;
  readonly #isRefusal: IsRefusal;
  readonly #place: RedisPlace;
  readonly #tag: string;
  readonly #onChange: (reason: Error | null) => void;
  readonly #replies: Replies;
  readonly #largeReads = new FairQueue(MAX_LARGE_READS);
  #lost: Error | null = null;
  /** When Redis last refused a write because it is a replica, on the clock of `performance.now()`. */
  #refusedMs = -Infinity;
  #probes = 0;
  #timer: NodeJS.Timeout | undefined;
  #closed = false;

  /**
   * Connects.
   *
   * @throws {Error} with the address of the Redis if it does not answer.
   */
  static async open(place: RedisPlace, options: LinkOptions): Promise<RedisLink> {
    // Loaded here, because most services have no Redis, and its client takes a tenth of their start.
    const { isRefusal, redisClient } = await import("./client.ts");
    const link = new RedisLink(place, options, redisClient(place, options.authority ?? null), isRefusal);
    try {
      await link.#connect();
    } catch (error) {
      link.close();
      throw new Error(
        `${describePlace(place)} cannot be used: ${(error as Error).message}; start it, or correct --redis`,
        {
          cause: error,
        },
      );
    }
    return link;
  }

  private constructor(place: RedisPlace, options: LinkOptions, client: Redis | Cluster, isRefusal: IsRefusal) {
    this.#place = place;
    this.commandMs = options.commandMs ?? COMMAND_MS;
    this.#replies = new Replies(this.commandMs, isRefusal);
    this.#client = client;
    this.#isRefusal = isRefusal;
    // In a cluster the part in braces selects the node. All keys of a decision must be on the same node.
    this.#tag = `caisson:{${options.realm}}:`;
    this.#onChange = options.onChange ?? (() => {});
    // The client emits an error for each failed attempt, which would end the process without a listener. `close`
    // reports the same.
    this.#client.on("error", () => {});
    this.#client.on("close", () => this.#lose(new Error(`the connection to ${describePlace(place)} was closed`)));
  }

  /** The reason why the connection is lost, or null. */
  get lost(): Error | null {
    return this.#lost;
  }

  /** Whether Redis could not be reached for a command, or had no data. Otherwise it refused this command alone. */
  isAway(reason: unknown): boolean {
    if (performance.now() - this.#refusedMs < REPLICA_MS) return false;
    return this.#lost !== null || (reason instanceof Error && AWAY.test(reason.message));
  }

  /** Returns a key of the realm for a name that the service chooses. */
  key(name: string): string {
    return this.#tag + name;
  }

  /**
   * Returns a key of the realm for a name that callers choose. It contains only the hash, because `{x}` in a name would
   * select another node of a cluster.
   */
  hashedKey(name: string): string {
    return this.#tag + createHash("sha256").update(name).digest("base64url").slice(0, HASH_CHARS);
  }

  /**
   * Sends one command.
   *
   * @throws {Problem} `store_unavailable` if Redis refused it or did not answer. Without an answer it is unknown
   *   whether Redis executed it.
   */
  async call(...[name, ...args]: Command): Promise<unknown> {
    if (this.#lost) throw unavailable(this.#lost);
    try {
      return await this.#replies.wait(this.#client.call(name, ...args));
    } catch (error) {
      throw this.#failed(error);
    }
  }

  /** Runs a script, whose text is sent to Redis only once. @throws {Problem} as `call` does. */
  run(script: Script, keys: readonly string[], args: readonly Argument[]): Promise<unknown> {
    return this.#run(script, (name, text) => this.#client.call(name, text, keys.length, ...keys, ...args));
  }

  /** Runs a script as `run` does, and returns the strings of the answer as bytes. */
  runPacked(script: Script, keys: readonly string[], args: readonly Argument[]): Promise<unknown> {
    return this.#run(script, (name, text) => this.#client.callBuffer(name, text, keys.length, ...keys, ...args));
  }

  async #run({ sha, text }: Script, send: (name: string, text: string) => Promise<unknown>): Promise<unknown> {
    if (this.#lost) throw unavailable(this.#lost);
    try {
      return await this.#replies.wait(
        send("evalsha", sha).catch((error: unknown) => {
          // Redis did not run the script, so it is safe to send it again.
          if (this.#isRefusal(error) && error.message.startsWith("NOSCRIPT") && !this.#lost) return send("eval", text);
          throw error;
        }),
      );
    } catch (error) {
      throw this.#failed(error);
    }
  }

  /**
   * Reads data whose size callers choose, a few reads at a time. The answers share one connection with all decisions about
   * runs: a caller that requests hundreds of megabytes at once would delay these beyond their time limit, and so open the
   * breaker for all callers. Writes that send such data, or make Redis read it, count as reads.
   *
   * @param holder the token family or the container that the data belongs to; holders take turns
   * @param read calls this link
   */
  readLarge<T>(holder: string, read: () => Promise<T>): Promise<T> {
    return this.#largeReads.run(holder, read);
  }

  close(): void {
    this.#closed = true;
    clearTimeout(this.#timer);
    this.#client.disconnect();
  }

  async #connect(): Promise<void> {
    let reason: unknown;
    this.#client.on("error", (error) => (reason = error));
    const { promise, reject } = Promise.withResolvers<never>();
    const timer = setTimeout(() => reject(reason ?? new Error(`it did not answer in ${OPEN_MS} ms`)), OPEN_MS);
    try {
      await Promise.race([this.#client.connect(), promise]);
      await this.#client.call("PING");
      this.#lost = null;
    } catch (error) {
      // The error of the client itself reports only that the connection was closed.
      throw plain(reason ?? error);
    } finally {
      clearTimeout(timer);
    }
  }

  /** Opens the breaker if Redis is lost, but not if it refused the command or is busy. */
  #failed(error: unknown): Problem {
    if (error instanceof RedisBusy) return unavailable(error);
    if (this.#isRefusal(error) && error.message.startsWith("READONLY")) this.#refusedMs = performance.now();
    if (!this.#isRefusal(error)) this.#lose(plain(error));
    return unavailable(plain(error));
  }

  #lose(reason: Error): void {
    if (this.#lost || this.#closed) return;
    this.#lost = reason;
    this.#probes = 0;
    this.#onChange(reason);
    void this.#probe();
  }

  async #probe(): Promise<void> {
    const begunMs = performance.now();
    try {
      await this.#replies.wait(this.#client.call("PING"));
      this.#lost = null;
      if (!this.#closed) this.#onChange(null);
    } catch {
      if (this.#closed) return;
      if (++this.#probes % PROBES_A_CONNECTION === 0) this.#reconnect();
      this.#timer = setTimeout(() => void this.#probe(), Math.max(0, PROBE_MS - (performance.now() - begunMs)));
    }
  }

  #reconnect(): void {
    // The cluster client manages its connections itself.
    if (this.#place.kind === "cluster") return;
    (this.#client as Redis).disconnect(true);
  }
}

/** A script and its hash, by which Redis runs it. */
export interface Script {
  readonly text: string;
  readonly sha: string;
}

export function redisScript(text: string): Script {
  return { text, sha: createHash("sha1").update(text).digest("hex") };
}

/**
 * Returns the error without the command that the client adds: it may contain a password or a token's name, and is
 * logged.
 */
function plain(error: unknown): Error {
  return new Error(error instanceof Error ? error.message : String(error));
}

export function unavailable(cause: unknown): Problem {
  const detail = "the shared store of the service cannot be reached now; nothing was run, and a retry may succeed";
  return new Problem("store_unavailable", detail, { retryAfterMs: PROBE_MS, cause });
}
