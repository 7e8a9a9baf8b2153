import type { EgressPolicy } from "../egress/policy.ts";
import { Cache, type CacheBounds, type Kept } from "./cache.ts";
import { exchange, type Exchanged, type ExchangeLimits, type Reply } from "./exchange.ts";
import { FetchFault } from "./fetch-fault.ts";
import { Flight } from "./flight.ts";
import { conditions, confirms, reuseOf, type Reuse, ruling, updated } from "./reuse.ts";
import { portOf } from "./task-url.ts";

export interface ReplyLimits extends ExchangeLimits {
  /** Of one exchange: an answer that drips for ever. */
  readonly totalMs: number;
}

export interface ReplyCaching extends CacheBounds {
  /** How long an answer is given out unasked, whatever it says: code that was mended must come into force. */
  readonly maxFreshMs: number;
}

/** Somebody who wants code. */
export interface Asker {
  /** When it came, as `arrive` counts. */
  readonly since: number;
  /** It waited in vain for what was another's: now it shares only what was sent for after it had come. */
  readonly again: boolean;
}

/** What came was for whoever had it sent for; this asker needs one of its own. */
export class NotShared extends Error {
  override readonly name = "NotShared";
}

interface Answered extends Pick<Reuse, "others"> {
  readonly reply: Reply;
}

interface Sending {
  /** In the count of arrivals. */
  readonly began: number;
  readonly flight: Flight<Answered>;
}

/**
 * What URLs answer: asked once by all who want it at the same time, and kept for as long as it may be (RFC 9111, as a
 * shared cache). Whoever asks has been held against its own claim before; that of another never counts for it.
 */
export class Replies {
  readonly #policy: EgressPolicy;
  readonly #limits: ReplyLimits;
  readonly #maxFreshMs: number;
  readonly #nowMs: () => number;
  readonly #cache: Cache;
  readonly #sendings: Map<string, Sending> = new Map();
  #arrivals = 0;

  /** @param nowMs a clock that never goes back. */
  constructor(policy: EgressPolicy, limits: ReplyLimits, caching: ReplyCaching, nowMs: () => number) {
    this.#policy = policy;
    this.#limits = limits;
    this.#maxFreshMs = caching.maxFreshMs;
    this.#nowMs = nowMs;
    this.#cache = new Cache(caching);
  }

  /** Counts one who comes, or one exchange that begins. */
  arrive(): number {
    return ++this.#arrivals;
  }

  /**
   * @throws {NotShared} when the asker has to come again.
   * @throws {FetchFault} or what `exchange` throws, or the signal's reason.
   */
  async ask(url: URL, asker: Asker, signal: AbortSignal): Promise<Reply> {
    const kept = this.#cache.get(url.href);
    if (kept && this.#nowMs() < kept.freshUntilMs) {
      // Interfaces of this machine come and go: a place may have become its own since.
      await this.#policy.resolve(url.hostname, portOf(url), kept.addresses);
      return kept.reply;
    }
    const found = this.#sendings.get(url.href);
    if (found && asker.again && found.began < asker.since) return this.#alone(url, signal);
    const sending = found ?? this.#send(url);
    // What was sent for after the asker came is as good as its own.
    const isOwn = sending.began > asker.since;
    const { reply, others } = await sending.flight.join(signal).catch((error: unknown) => {
      // A failure is kept for nobody who came after it had begun.
      throw isOwn || signal.aborted ? error : new NotShared();
    });
    if (!found || others === "all" || (others === "earlier" && isOwn)) return reply;
    if (asker.again) return this.#alone(url, signal);
    throw new NotShared();
  }

  #send(url: URL): Sending {
    const { totalMs } = this.#limits;
    const late = (): unknown => new FetchFault("task_url_unreachable", `did not answer in full within ${totalMs} ms`);
    const over = (): void => {
      if (this.#sendings.get(url.href) === sending) this.#sendings.delete(url.href);
    };
    const flight = new Flight((signal) => this.#get(url, signal), totalMs, late, over);
    const sending = { began: this.arrive(), flight };
    this.#sendings.set(url.href, sending);
    return sending;
  }

  async #alone(url: URL, signal: AbortSignal): Promise<Reply> {
    return (await this.#get(url, signal)).reply;
  }

  async #get(url: URL, signal: AbortSignal): Promise<Answered> {
    const kept = this.#cache.get(url.href);
    const asked = kept ? conditions(kept.headers) : {};
    const came = await exchange(url, asked, this.#policy, this.#limits, signal);
    if (came.reply) return this.#settle(url, came, came.reply);
    if (kept && confirms(came.headers, kept.headers)) {
      return this.#settle(url, { ...came, headers: updated(kept.headers, came.headers), status: 200 }, kept.reply);
    }
    this.#cache.forget(url.href);
    return this.#get(url, signal);
  }

  #settle(url: URL, { status, headers, delayMs, addresses }: Exchanged, reply: Reply): Answered {
    const { others, freshMs } = reuseOf(status, headers, { delayMs, maxFreshMs: this.#maxFreshMs });
    const kept: Kept = { reply, headers: ruling(headers), addresses, freshUntilMs: this.#nowMs() + freshMs };
    const isOfUse = freshMs > 0 || Object.keys(conditions(headers)).length > 0;
    if (others !== "none" && isOfUse) this.#cache.keep(url.href, kept);
    else this.#cache.forget(url.href);
    return { reply, others };
  }
}
