import { createHash } from "node:crypto";

import { type Cluster, type Redis, ReplyError } from "ioredis";

import { describePlace, type RedisPlace } from "../config/redis-place.ts";
import { Problem } from "../errors.ts";
import { redisClient } from "./client.ts";

/** How long a command may take where nothing else is said, in milliseconds. */
export const COMMAND_MS = 250;
/** How often a Redis that does not answer is asked whether it does again, in milliseconds. */
const PROBE_MS = 500;
/** So many unanswered probes in a row, and the connection itself is given up: a network may swallow it without a word. */
const PROBES_A_CONNECTION = 8;
const OPEN_MS = 5_000;
/** Of a name, at the end of its key: 192 bits, so that nobody finds two names with one hash. */
export const HASH_CHARS = 32;

export interface LinkOptions {
  /** What the keys of this service begin with, so that several can share a Redis. */
  readonly realm: string;
  /** A file of certificates that the server's is checked against, or null for the system's. */
  readonly authority?: string | null;
  /** How long a command may take, in milliseconds; after that nobody waits for it. */
  readonly commandMs?: number;
  /** Told when it is lost, with the reason, and when it is back, with `null`. */
  readonly onChange?: (reason: Error | null) => void;
}

/** What a command is given. */
type Word = string | number | Buffer;
type Command = readonly [name: string, ...words: Word[]];

/**
 * The connection to Redis that everything shared goes through, with a breaker.
 *
 * A command that gets no answer, or a connection that breaks, opens it: from then on all fail at once, and one probe each
 * half second finds out when to close it again. No command is ever sent twice.
 */
export class RedisLink {
  readonly commandMs: number;
  readonly #client: Redis | Cluster;
  readonly #place: RedisPlace;
  readonly #tag: string;
  readonly #onChange: (reason: Error | null) => void;
  #lost: Error | null = null;
  #probes = 0;
  #timer: NodeJS.Timeout | undefined;
  #closed = false;

  /**
   * Connects.
   *
   * @throws {Error} naming the place, when it does not answer.
   */
  static async open(place: RedisPlace, options: LinkOptions): Promise<RedisLink> {
    const link = new RedisLink(place, options);
    try {
      await link.#connect();
    } catch (error) {
      link.close();
      throw new Error(`${describePlace(place)} cannot be used: ${(error as Error).message}`, { cause: error });
    }
    return link;
  }

  private constructor(place: RedisPlace, options: LinkOptions) {
    this.#place = place;
    this.commandMs = options.commandMs ?? COMMAND_MS;
    this.#client = redisClient(place, options.authority ?? null);
    // In a cluster the part in braces chooses the node: all keys of a decision must be on one.
    this.#tag = `caisson:{${options.realm}}:`;
    this.#onChange = options.onChange ?? (() => {});
    // The client tells each failed attempt here, and the process ends when nobody listens. `close` says the same.
    this.#client.on("error", () => {});
    this.#client.on("close", () => this.#lose(new Error(`the connection to ${describePlace(place)} was closed`)));
  }

  /** Why it cannot be used, or null. */
  get lost(): Error | null {
    return this.#lost;
  }

  /** A key of the realm, by a name that is known here. */
  key(name: string): string {
    return this.#tag + name;
  }

  /**
   * A key of the realm, by a name that callers choose: only its hash gets there, since `{x}` would lead to another node of
   * a cluster.
   */
  hashedKey(name: string): string {
    return this.#tag + createHash("sha256").update(name).digest("base64url").slice(0, HASH_CHARS);
  }

  /**
   * Sends one command.
   *
   * @throws {Problem} `store_unavailable` when it was refused, or when its answer did not come: then it is unknown whether
   * it was carried out.
   */
  async call(...[name, ...words]: Command): Promise<unknown> {
    if (this.#lost) throw unavailable(this.#lost);
    try {
      return await inTime(this.#client.call(name, ...words), this.commandMs);
    } catch (error) {
      throw this.#failed(error);
    }
  }

  /** Runs a script, which Redis is sent once. @throws {Problem} as `call`. */
  run(script: Script, keys: readonly string[], words: readonly Word[]): Promise<unknown> {
    return this.#run(script, (name, text) => this.#client.call(name, text, keys.length, ...keys, ...words));
  }

  /** As `run`; texts of the answer are bytes. */
  runPacked(script: Script, keys: readonly string[], words: readonly Word[]): Promise<unknown> {
    return this.#run(script, (name, text) => this.#client.callBuffer(name, text, keys.length, ...keys, ...words));
  }

  async #run({ sha, text }: Script, ask: (name: string, text: string) => Promise<unknown>): Promise<unknown> {
    if (this.#lost) throw unavailable(this.#lost);
    try {
      return await inTime(
        ask("evalsha", sha).catch((error: unknown) => {
          // It was not run, so it is safe to send it once more.
          if (isRefusal(error) && error.message.startsWith("NOSCRIPT") && !this.#lost) return ask("eval", text);
          throw error;
        }),
        this.commandMs,
      );
    } catch (error) {
      throw this.#failed(error);
    }
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
      // What the client says itself is only that the connection was closed.
      throw plain(reason ?? error);
    } finally {
      clearTimeout(timer);
    }
  }

  /** An answer that says no leaves the connection as it is; no answer does not. */
  #failed(error: unknown): Problem {
    if (!isRefusal(error)) this.#lose(plain(error));
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
      await inTime(this.#client.call("PING"), this.commandMs);
      this.#lost = null;
      if (!this.#closed) this.#onChange(null);
    } catch {
      if (this.#closed) return;
      if (++this.#probes % PROBES_A_CONNECTION === 0) this.#reconnect();
      this.#timer = setTimeout(() => void this.#probe(), Math.max(0, PROBE_MS - (performance.now() - begunMs)));
    }
  }

  #reconnect(): void {
    // A cluster's client sees to its connections itself.
    if (this.#place.kind === "cluster") return;
    (this.#client as Redis).disconnect(true);
  }
}

/** A script and the name that Redis knows it by. */
export interface Script {
  readonly text: string;
  readonly sha: string;
}

export function redisScript(text: string): Script {
  return { text, sha: createHash("sha1").update(text).digest("hex") };
}

/**
 * The answer, when it comes in time. A node that was kept from its work finds it waiting: so what has arrived is read
 * before it is called late, which the client's own limit would not do.
 */
function inTime<T>(answer: Promise<T>, commandMs: number): Promise<T> {
  return new Promise((resolve, reject) => {
    const late = (): void => reject(new Error(`it did not answer in ${commandMs} ms`));
    const timer = setTimeout(() => setImmediate(late), commandMs);
    answer.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}

/** Whether Redis answered, and said no. */
function isRefusal(error: unknown): error is Error {
  return error instanceof ReplyError;
}

/** Without the command, which the client adds to its errors: it may hold a password or a token's name, and gets logged. */
function plain(error: unknown): Error {
  return new Error(error instanceof Error ? error.message : String(error));
}

export function unavailable(cause: unknown): Problem {
  const detail = "what the nodes of the service share cannot be reached now; nothing was run, and a retry may succeed";
  return new Problem("store_unavailable", detail, { retryAfterMs: PROBE_MS, cause });
}
