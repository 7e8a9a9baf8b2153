import type { EgressPolicy } from "../egress/policy.ts";
import { conditions, reuseOf, type Reuse, validated } from "./cache-policy.ts";
import { Cache, type CacheBounds, type CachedReply } from "./cache.ts";
import { exchange, type ExchangeResult, type ExchangeLimits, type Reply } from "./exchange.ts";
import { FetchFault } from "./fetch-fault.ts";
import { SharedFetch } from "./shared-fetch.ts";
import { portOf } from "./task-url.ts";
import type { TimeLimit } from "./within.ts";
import { WorkQueues } from "./work-queues.ts";

export interface ReplyLimits extends ExchangeLimits {
  /** The time limit of one exchange. It stops an answer that trickles for ever. */
  readonly totalMs: number;
}

export interface ReplyCaching extends CacheBounds {
  /**
   * The maximum number of milliseconds without a validation, whatever lifetime the answer declares: corrected code must
   * take effect.
   */
  readonly maxFreshMs: number;
}

/**
 * The maximum number of simultaneous fetches of one URL. More callers wait, so that many runs do not load the code's
 * server. Token families take turns, so that one family does not take the URL from the others.
 */
const MAX_FETCHES = 4;

interface FetchResult extends Pick<Reuse, "isForAll"> {
  readonly reply: Reply;
}

/**
 * Fetches and caches the answers of URLs (RFC 9111, as a shared cache). Simultaneous callers of a URL share one fetch
 * if the answer allows it; otherwise each caller fetches, and token families take turns. The service checked the claim of each caller before.
 */
export class Replies {
  readonly #policy: EgressPolicy;
  readonly #limits: ReplyLimits;
  readonly #maxFreshMs: number;
  readonly #nowMs: () => number;
  readonly #cache: Cache;
  /** By URL. Each family has at most one that waits for its turn. */
  readonly #shared: Map<string, Set<SharedFetch<FetchResult>>> = new Map();
  readonly #queues: WorkQueues = new WorkQueues(MAX_FETCHES);

  /** @param nowMs a monotonic clock. */
  constructor(policy: EgressPolicy, limits: ReplyLimits, caching: ReplyCaching, nowMs: () => number) {
    this.#policy = policy;
    this.#limits = limits;
    this.#maxFreshMs = caching.maxFreshMs;
    this.#nowMs = nowMs;
    this.#cache = new Cache(caching);
  }

  /**
   * @param family the token family of the caller
   * @param time the time of the caller. It is restarted if the caller waited for an answer that it may not share, and now
   *   starts a fetch. It stands still while the caller waits only for the fetches of other families.
   * @throws {FetchFault} or the error of `exchange`, or the reason of the signal.
   */
  async ask(url: URL, family: string, time: TimeLimit, signal: AbortSignal): Promise<Reply> {
    const cached = this.#cache.get(url.href);
    if (cached && this.#isFresh(cached)) return await this.#recheck(url, cached);
    const shared = this.#joinable(url, family);
    if (!shared) return (await this.#share(url, family).join(time, signal)).reply;
    const result = await shared.join(time, signal).catch(() => null);
    signal.throwIfAborted();
    if (result?.isForAll) return result.reply;
    time.restart();
    return (await this.#fetch(url, family, time, () => {}, signal)).reply;
  }

  /** A fetch of another family that still waits is behind all fetches of that family, so others do not wait for it. */
  #joinable(url: URL, family: string): SharedFetch<FetchResult> | undefined {
    for (const shared of this.#shared.get(url.href) ?? []) {
      if (shared.hasBegun || shared.family === family) return shared;
    }
    return undefined;
  }

  #share(url: URL, family: string): SharedFetch<FetchResult> {
    const { totalMs } = this.#limits;
    const late = (): unknown => new FetchFault("task_url_unreachable", `did not answer in full within ${totalMs} ms`);
    const ofUrl = this.#shared.get(url.href) ?? new Set();
    this.#shared.set(url.href, ofUrl);
    const onOver = (): void => {
      ofUrl.delete(sharedFetch);
      if (ofUrl.size === 0 && this.#shared.get(url.href) === ofUrl) this.#shared.delete(url.href);
    };
    const sharedFetch = new SharedFetch<FetchResult>(
      family,
      (time, onBegin, signal) => this.#fetch(url, family, time, onBegin, signal),
      totalMs,
      late,
      onOver,
    );
    ofUrl.add(sharedFetch);
    return sharedFetch;
  }

  #fetch(
    url: URL,
    family: string,
    time: Pick<TimeLimit, "pause" | "resume">,
    onBegin: () => void,
    signal: AbortSignal,
  ): Promise<FetchResult> {
    return this.#queues.run(url.href, family, time, signal, async () => {
      onBegin();
      // An earlier fetch of the queue may have cached an answer for all callers.
      const cached = this.#cache.get(url.href);
      if (cached && this.#isFresh(cached)) return { reply: await this.#recheck(url, cached), isForAll: true };
      return this.#get(url, family, signal);
    });
  }

  async #get(url: URL, family: string, signal: AbortSignal): Promise<FetchResult> {
    const cached = this.#cache.get(url.href);
    const result = await exchange(url, cached ? conditions(cached) : {}, this.#policy, this.#limits, {
      family,
      signal,
    });
    const { status, headers, delayMs } = result;
    if (result.reply) return this.#cacheResult(url, family, result, result.reply, reuseOf(status, headers, delayMs));
    const reuse = cached && validated(cached, headers, delayMs);
    if (cached && reuse) return this.#cacheResult(url, family, result, cached.reply, reuse);
    this.#cache.forget(url.href);
    return this.#get(url, family, signal);
  }

  #cacheResult(
    url: URL,
    family: string,
    { addresses }: ExchangeResult,
    reply: Reply,
    { status, headers, ...reuse }: Reuse,
  ): FetchResult {
    const freshMs = Math.min(reuse.freshMs, this.#maxFreshMs);
    const cached: CachedReply = { reply, status, headers, addresses, freshUntilMs: this.#nowMs() + freshMs };
    const isReusable = freshMs > 0 || Object.keys(conditions(cached)).length > 0;
    if (reuse.isPublic && isReusable) this.#cache.store(url.href, cached, family);
    else this.#cache.forget(url.href);
    return { reply, isForAll: reuse.isForAll };
  }

  #isFresh({ freshUntilMs }: CachedReply): boolean {
    return this.#nowMs() < freshUntilMs;
  }

  /** Checks the addresses again, because interfaces change: an address may belong to this machine by now. */
  async #recheck(url: URL, { addresses, reply }: CachedReply): Promise<Reply> {
    await this.#policy.resolve(url.hostname, portOf(url), addresses);
    return reply;
  }
}
