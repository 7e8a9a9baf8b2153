import { type NetClaim, requireNamed } from "../egress/narrow.ts";
import type { EgressPolicy } from "../egress/policy.ts";
import type { Reply } from "./exchange.ts";
import { asProblem, FetchFault } from "./fetch-fault.ts";
import { requirePinned } from "./pin.ts";
import { Replies, type ReplyCaching, type ReplyLimits } from "./replies.ts";
import { portOf, readTaskUrl } from "./task-url.ts";
import { withoutPreamble } from "./text.ts";
import { within } from "./within.ts";

/** `connectMs` is for each hop, `totalMs` for all of them together. */
export interface FetchLimits extends ReplyLimits {
  readonly maxRedirects: number;
  /** Characters of a URL. */
  readonly urlMaxLength: number;
}

/** What a token leaves to who fetches. */
export interface FetchPermit {
  readonly net: NetClaim;
  /** Of the only text that is taken, in lower-case hexadecimal; `null` takes every text. */
  readonly sha256: string | null;
}

export interface FetchedSource {
  /** UTF-8, without byte-order mark and first line `#!`. Others may have been given the same bytes. */
  bytes: Buffer;
  contentType: string | null;
  /** Where the redirects ended. */
  url: string;
}

/** Source code by its URL. */
export class Sources {
  readonly #replies: Replies;
  readonly #limits: FetchLimits;

  /** @param policy the operator's, the same for all who fetch. */
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
   * GETs source code from a URL, or gives what is kept of it. Each place on the way is held against the policy and the
   * permit, redirects too, whether or not it is asked.
   *
   * @throws {Problem} `task_url_invalid`, `task_url_forbidden`, `task_url_unreachable`, `task_url_status`,
   *   `task_url_too_large`, `task_url_not_code` or `code_pinned`.
   * @throws the signal's reason when it aborts.
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
        (restart) => {
          // The wait for another caller's answer does not count, once: several redirects must not add up.
          const waitedInVain = once(restart);
          return this.#follow(first, host, permit, waitedInVain, stop.signal);
        },
        signal,
      );
    } finally {
      // Whatever way it ended: no socket outlives it, and no redirect is followed behind its back.
      stop.abort();
    }
  }

  async #follow(
    first: URL,
    host: string,
    permit: FetchPermit,
    waitedInVain: () => void,
    signal: AbortSignal,
  ): Promise<FetchedSource> {
    const visited = new Set<string>();
    // What a redirect leads to is not named: an allowed server may redirect to an internal one.
    let place = host;
    try {
      for (let url = first; ; place = `the place that ${host} redirects to`) {
        visited.add(url.href);
        requireNamed(permit.net, url.hostname, portOf(url));
        const reply = await this.#replies.ask(url, waitedInVain, signal);
        if (reply.location === null) return fetched(reply, url, permit);
        url = redirected(reply.location, url, visited, this.#limits);
      }
    } catch (error) {
      throw asProblem(error, place);
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

function fetched({ body, contentType }: Reply, url: URL, { sha256 }: FetchPermit): FetchedSource {
  requirePinned(body, null, sha256);
  return { bytes: withoutPreamble(body), contentType, url: url.href };
}

function redirected(location: string, from: URL, visited: ReadonlySet<string>, limits: FetchLimits): URL {
  const url = readTaskUrl(location, limits.urlMaxLength, from);
  if (from.protocol === "https:" && url.protocol === "http:") {
    throw new FetchFault("task_url_forbidden", "redirects from https to http");
  }
  if (visited.has(url.href)) throw new FetchFault("task_url_unreachable", "redirects in a circle");
  if (visited.size > limits.maxRedirects) {
    throw new FetchFault("task_url_unreachable", `redirects once more after ${limits.maxRedirects} redirects`);
  }
  return url;
}
