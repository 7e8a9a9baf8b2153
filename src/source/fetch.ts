import type { EgressPolicy } from "../egress/policy.ts";
import { type NetClaim, requireNamed } from "../egress/restrict-policy.ts";
import type { Reply } from "./exchange.ts";
import { asProblem, FetchFault } from "./fetch-fault.ts";
import { requirePinned } from "./pin.ts";
import { Replies, type ReplyCaching, type ReplyLimits } from "./replies.ts";
import { portOf, readTaskUrl } from "./task-url.ts";
import { withoutPreamble } from "./text.ts";
import { type TimeLimit, within } from "./within.ts";

/** The limits of a fetch. `connectMs` applies to each hop, `totalMs` to all hops together. */
export interface FetchLimits extends ReplyLimits {
  readonly maxRedirects: number;
  /** The maximum number of characters of a URL. */
  readonly urlMaxLength: number;
}

/** What a token permits its caller to fetch. */
export interface FetchPermit {
  readonly net: NetClaim;
  /** The digest of the only text that is accepted, in lower-case hexadecimal. `null` accepts every text. */
  readonly sha256: string | null;
  /** The token family of the caller, which shares the cache with others. */
  readonly family?: string;
}

export interface FetchedSource {
  /** UTF-8, without byte-order mark and first line `#!`. Other callers may share the same bytes. */
  bytes: Buffer;
  contentType: string | null;
  /** The URL after all redirects. */
  url: string;
}

/** Fetches source code by its URL. */
export class Sources {
  readonly #replies: Replies;
  readonly #limits: FetchLimits;

  /** @param policy the operator's policy, which applies to all callers. */
  constructor(
    policy: EgressPolicy,
    limits: FetchLimits,
    caching: ReplyCaching,
    nowMs: () => number = () => performance.now(),
  ) {
    this.#replies = new Replies(policy, limits, caching, nowMs);
    this.#limits = limits;
  }

  /**
   * GETs source code from a URL, or returns it from the cache. The policy and the permit apply to the URL and to each
   * redirect, also if the reply is cached.
   *
   * @throws {Problem} `task_url_invalid`, `task_url_forbidden`, `task_url_unreachable`, `task_url_status`,
   *   `task_url_too_large`, `task_url_not_code` or `code_pinned`.
   * @throws the reason of the signal if it aborts.
   */
  async fetch(url: string, permit: FetchPermit, signal?: AbortSignal): Promise<FetchedSource> {
    signal?.throwIfAborted();
    const first = readTaskUrl(url, this.#limits.urlMaxLength);
    const host = JSON.stringify(first.hostname);
    const { totalMs } = this.#limits;
    const stop = new AbortController();
    const late = (): unknown =>
      asProblem(new FetchFault("task_url_unreachable", `did not answer in full within ${totalMs} ms`), host);
    try {
      return await within(
        totalMs,
        late,
        (time) => {
          // The wait for an answer that only another caller may have does not count, but only once for all redirects.
          const restart = once(() => time.restart());
          const own = { restart, pause: () => time.pause(), resume: () => time.resume() };
          return this.#follow(first, host, permit, own, stop.signal);
        },
        signal,
      );
    } finally {
      // Also after a failure: no socket stays open, and no further redirect is followed.
      stop.abort();
    }
  }

  async #follow(
    first: URL,
    host: string,
    permit: FetchPermit,
    time: TimeLimit,
    signal: AbortSignal,
  ): Promise<FetchedSource> {
    const visited = new Set<string>();
    // The text never names the target of a redirect, because an allowed server may redirect to an internal host.
    let subject = host;
    try {
      for (let url = first; ; subject = `the redirect target of ${host}`) {
        visited.add(url.href);
        requireNamed(permit.net, url.hostname, portOf(url));
        const reply = await this.#replies.ask(url, permit.family ?? "", time, signal);
        if (reply.location === null) return toFetchedSource(reply, url, permit);
        url = redirectTarget(reply.location, url, visited, this.#limits);
      }
    } catch (error) {
      throw asProblem(error, subject);
    }
  }
}

function once(call: () => void): () => void {
  let isCalled = false;
  return () => {
    if (!isCalled) call();
    isCalled = true;
  };
}

function toFetchedSource({ body, contentType }: Reply, url: URL, { sha256 }: FetchPermit): FetchedSource {
  requirePinned(body, null, sha256);
  return { bytes: withoutPreamble(body), contentType, url: url.href };
}

function redirectTarget(location: string, from: URL, visited: ReadonlySet<string>, limits: FetchLimits): URL {
  const url = readTaskUrl(location, limits.urlMaxLength, from);
  if (from.protocol === "https:" && url.protocol === "http:") {
    throw new FetchFault("task_url_forbidden", "redirects from https: to http:");
  }
  if (visited.has(url.href)) throw new FetchFault("task_url_unreachable", "redirects in a loop");
  if (visited.size > limits.maxRedirects) {
    throw new FetchFault("task_url_unreachable", `redirects more than ${limits.maxRedirects} times`);
  }
  return url;
}
