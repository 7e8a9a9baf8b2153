import type { EgressPolicy } from "../egress/policy.ts";
import { conditions, reuseOf, type Reuse, validated } from "./cache-policy.ts";
import { Cache, type CacheBounds, type Kept } from "./cache.ts";
import { exchange, type Exchanged, type ExchangeLimits, type Reply } from "./exchange.ts";
import { FetchFault } from "./fetch-fault.ts";
import { SharedFetch } from "./shared-fetch.ts";
import { portOf } from "./task-url.ts";
import { Turns } from "./turns.ts";

export interface ReplyLimits extends ExchangeLimits {
  /** Of one exchange: an answer that drips for ever. */
  readonly totalMs: number;
}

export interface ReplyCaching extends CacheBounds {
  /** The most milliseconds for which an answer is used without a validation, whatever it says: fixed code must come into force. */
  readonly maxFreshMs: number;
}

/** Of one URL: more runs at once than a server of code needs to notice. */
const MAX_FETCHES = 4;

interface Answered extends Pick<Reuse, "isForAll"> {
  readonly reply: Reply;
}

/**
 * The answers of URLs, kept for as long as they may be (RFC 9111, as a shared cache). Callers that ask at the same time share
 * a fetch whose answer all may have, and otherwise fetch for themselves. The claim of each caller was checked before.
 */
export class Replies {
  readonly #policy: EgressPolicy;
  readonly #limits: ReplyLimits;
  readonly #maxFreshMs: number;
  readonly #nowMs: () => number;
  readonly #cache: Cache;
  readonly #shared: Map<string, SharedFetch<Answered>> = new Map();
  readonly #turns: Turns = new Turns(MAX_FETCHES);

  /** @param nowMs a clock that never goes back. */
  constructor(policy: EgressPolicy, limits: ReplyLimits, caching: ReplyCaching, nowMs: () => number) {
    this.#policy = policy;
    this.#limits = limits;
    this.#maxFreshMs = caching.maxFreshMs;
    this.#nowMs = nowMs;
    this.#cache = new Cache(caching);
  }

  /**
   * @param waitedInVain called when the caller has waited for an answer that was not for it, and now fetches for itself.
   * @throws {FetchFault} or what `exchange` throws, or the signal's reason.
   */
  async ask(url: URL, waitedInVain: () => void, signal: AbortSignal): Promise<Reply> {
    const kept = this.#cache.get(url.href);
    if (kept && this.#isFresh(kept)) return await this.#checked(url, kept);
    const found = this.#shared.get(url.href);
    if (!found) return (await this.#share(url).join(signal)).reply;
    const answered = await found.join(signal).catch(() => null);
    signal.throwIfAborted();
    if (answered?.isForAll) return answered.reply;
    waitedInVain();
    return (await this.#fetch(url, signal)).reply;
  }

  #share(url: URL): SharedFetch<Answered> {
    const { totalMs } = this.#limits;
    const late = (): unknown => new FetchFault("task_url_unreachable", `did not answer in full within ${totalMs} ms`);
    const over = (): void => {
      if (this.#shared.get(url.href) === flight) this.#shared.delete(url.href);
    };
    const flight = new SharedFetch((signal) => this.#fetch(url, signal), totalMs, late, over);
    this.#shared.set(url.href, flight);
    return flight;
  }

  #fetch(url: URL, signal: AbortSignal): Promise<Answered> {
    return this.#turns.take(url.href, signal, async () => {
      // A fetch that had its turn before may have brought what all may have.
      const kept = this.#cache.get(url.href);
      if (kept && this.#isFresh(kept)) return { reply: await this.#checked(url, kept), isForAll: true };
      return this.#get(url, signal);
    });
  }

  async #get(url: URL, signal: AbortSignal): Promise<Answered> {
    const kept = this.#cache.get(url.href);
    const came = await exchange(url, kept ? conditions(kept) : {}, this.#policy, this.#limits, signal);
    const { status, headers, delayMs } = came;
    if (came.reply) return this.#settle(url, came, came.reply, reuseOf(status, headers, delayMs));
    const reuse = kept && validated(kept, headers, delayMs);
    if (kept && reuse) return this.#settle(url, came, kept.reply, reuse);
    this.#cache.forget(url.href);
    return this.#get(url, signal);
  }

  #settle(url: URL, { addresses }: Exchanged, reply: Reply, { status, headers, ...reuse }: Reuse): Answered {
    const freshMs = Math.min(reuse.freshMs, this.#maxFreshMs);
    const kept: Kept = { reply, status, headers, addresses, freshUntilMs: this.#nowMs() + freshMs };
    const isOfUse = freshMs > 0 || Object.keys(conditions(kept)).length > 0;
    if (reuse.isPublic && isOfUse) this.#cache.keep(url.href, kept);
    else this.#cache.forget(url.href);
    return { reply, isForAll: reuse.isForAll };
  }

  #isFresh({ freshUntilMs }: Kept): boolean {
    return this.#nowMs() < freshUntilMs;
  }

  /** Interfaces of this machine come and go: an address may have become the machine's own since. */
  async #checked(url: URL, { addresses, reply }: Kept): Promise<Reply> {
    await this.#policy.resolve(url.hostname, portOf(url), addresses);
    return reply;
  }
}
