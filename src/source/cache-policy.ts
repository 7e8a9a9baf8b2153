import type { IncomingHttpHeaders } from "node:http";

import CachePolicy from "http-cache-semantics";

type Headers = Readonly<Record<string, string>>;
type StoredAnswer = Pick<Reuse, "status" | "headers">;

/** How a shared cache may reuse an answer (RFC 9111). */
export interface Reuse {
  readonly status: number;
  /**
   * The headers that decide on the reuse. The policy is parsed from them again at each use, because it takes far more
   * memory.
   */
  readonly headers: Headers;
  /** The milliseconds for which the answer is fresh; 0 if each use needs a validation. */
  readonly freshMs: number;
  /** Whether callers that asked during the fetch may receive the answer too. */
  readonly isForAll: boolean;
  /** Whether a shared cache may store the answer. */
  readonly isPublic: boolean;
}

/** @param delayMs the time from the request to the end of its answer, which counts as age (RFC 9111, 4.2.3). */
export function reuseOf(status: number, received: IncomingHttpHeaders, delayMs: number): Reuse {
  return evaluate(status, cacheHeaders(received), received.vary, { delayMs, isValidated: false });
}

/**
 * Returns how a stored answer may be reused after a 304 validated it (RFC 9111, 4.3.4).
 *
 * @returns null if the 304 is about another answer. Some servers send a 304 to every request.
 */
export function validated(
  { status, headers }: StoredAnswer,
  received: IncomingHttpHeaders,
  delayMs: number,
): Reuse | null {
  const receivedHeaders = cacheHeaders(received);
  // A 304 without a validator is about the answer that the request named.
  const isNamed = receivedHeaders["etag"] !== undefined || receivedHeaders["last-modified"] !== undefined;
  const response = { status: 304, headers: isNamed ? receivedHeaders : headers };
  if (!policyOf(status, headers).revalidatedPolicy(REQUEST, response).matches) return null;
  // `Age` and `Date` describe a single message: a 304 without them is new.
  const { age: _age, date: _date, ...lasting } = headers;
  return evaluate(status, { ...lasting, ...receivedHeaders }, received.vary, { delayMs, isValidated: true });
}

/**
 * Returns the headers that ask whether a stored answer is still valid (RFC 9110, 13.1), or none if it has no validator.
 */
export function conditions({ status, headers }: StoredAnswer): Headers {
  return policyOf(status, headers).revalidationHeaders(REQUEST) as Headers;
}

/** All requests are equal, so that no answer depends on the request. */
const REQUEST = { method: "GET", headers: {} };
/** `cacheHeuristic: 0` disables guessed lifetimes. */
const OPTIONS = { shared: true, cacheHeuristic: 0, immutableMinTimeToLive: 0 };
/** Without `Vary`: because all requests are equal, only its value `*` matters, and `evaluate` checks that. */
const CACHE_HEADERS: ReadonlySet<string> = new Set([
  "cache-control",
  "expires",
  "date",
  "age",
  "etag",
  "last-modified",
]);

function cacheHeaders(received: IncomingHttpHeaders): Headers {
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(received)) {
    if (CACHE_HEADERS.has(name) && typeof value === "string") headers[name] = value;
  }
  // The library compares directives case-sensitively, but they have no case (RFC 9111, 5.2).
  if (headers["cache-control"]) headers["cache-control"] = headers["cache-control"].toLowerCase();
  return headers;
}

function policyOf(status: number, headers: Headers): CachePolicy {
  return new CachePolicy(REQUEST, { status, headers }, OPTIONS);
}

function evaluate(
  status: number,
  headers: Headers,
  vary: string | undefined,
  { delayMs, isValidated }: { readonly delayMs: number; readonly isValidated: boolean },
): Reuse {
  const policy = policyOf(status, headers);
  const isPublic = policy.storable() && !vary?.includes("*");
  // `Date` has whole seconds. With fractions, an answer with a lifetime of one second would never be fresh.
  const apparentMs = Math.floor((Date.now() - policy.date()) / 1_000) * 1_000;
  const ageMs = Math.max(apparentMs, policy.age() * 1_000 + delayMs);
  // `timeToLive` would add the time in which a stale answer may be used.
  const freshMs = isPublic ? Math.max(0, policy.maxAge() * 1_000 - ageMs) : 0;
  const isSilent = headers["cache-control"] === undefined && headers["expires"] === undefined;
  return { status, headers, freshMs, isPublic, isForAll: isPublic && (freshMs > 0 || isValidated || isSilent) };
}
