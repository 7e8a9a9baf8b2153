import type { IncomingHttpHeaders } from "node:http";

import CachePolicy from "http-cache-semantics";

type Headers = Readonly<Record<string, string>>;
type Kept = Pick<Reuse, "status" | "headers">;

/** What one answer allows a shared cache to do with it (RFC 9111). */
export interface Reuse {
  readonly status: number;
  /** The headers that decide on the reuse. The policy that is read from them can take far more memory, and is not kept. */
  readonly headers: Headers;
  /** Milliseconds for which the answer is fresh; 0 when each use needs a validation. */
  readonly freshMs: number;
  /** Whether callers that came during the fetch may have the answer too. */
  readonly isForAll: boolean;
  /** Whether a shared cache may keep the answer. */
  readonly isPublic: boolean;
}

/** @param delayMs from the request to the end of its answer, in which the answer may have aged (RFC 9111, 4.2.3). */
export function reuseOf(status: number, received: IncomingHttpHeaders, delayMs: number): Reuse {
  return judged(status, ruling(received), received.vary, { delayMs, isValidated: false });
}

/**
 * What a kept answer allows after a 304 has validated it (RFC 9111, 4.3.4).
 *
 * @returns null when the 304 is about another answer. Some servers send a 304 to every request.
 */
export function validated({ status, headers }: Kept, received: IncomingHttpHeaders, delayMs: number): Reuse | null {
  const came = ruling(received);
  // A 304 without a validator is about the only answer that was asked about.
  const isNamed = came["etag"] !== undefined || came["last-modified"] !== undefined;
  const response = { status: 304, headers: isNamed ? came : headers };
  if (!policyOf(status, headers).revalidatedPolicy(REQUEST, response).matches) return null;
  // `Age` and `Date` are about one message: a 304 without them is new.
  const { age: _age, date: _date, ...lasting } = headers;
  return judged(status, { ...lasting, ...came }, received.vary, { delayMs, isValidated: true });
}

/** The headers that ask whether a kept answer is still good (RFC 9110, 13.1); none when that cannot be asked. */
export function conditions({ status, headers }: Kept): Headers {
  return policyOf(status, headers).revalidationHeaders(REQUEST) as Headers;
}

/** All requests are alike, so that no answer depends on one of them. */
const REQUEST = { method: "GET", headers: {} };
/** A lifetime that the server does not name is never guessed. */
const OPTIONS = { shared: true, cacheHeuristic: 0, immutableMinTimeToLive: 0 };
/** `Vary` is not among them: with requests that are alike, only `*` matters. */
const RULING: ReadonlySet<string> = new Set(["cache-control", "expires", "date", "age", "etag", "last-modified"]);

function ruling(received: IncomingHttpHeaders): Headers {
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(received)) {
    if (RULING.has(name) && typeof value === "string") headers[name] = value;
  }
  // The library compares directives as they are written; they have no case (RFC 9111, 5.2).
  if (headers["cache-control"]) headers["cache-control"] = headers["cache-control"].toLowerCase();
  return headers;
}

function policyOf(status: number, headers: Headers): CachePolicy {
  return new CachePolicy(REQUEST, { status, headers }, OPTIONS);
}

function judged(
  status: number,
  headers: Headers,
  vary: string | undefined,
  { delayMs, isValidated }: { readonly delayMs: number; readonly isValidated: boolean },
): Reuse {
  const policy = policyOf(status, headers);
  const isPublic = policy.storable() && !vary?.includes("*");
  // A date has no parts of a second: those would make an answer that is good for one second never good.
  const apparentMs = Math.floor((Date.now() - policy.date()) / 1_000) * 1_000;
  const ageMs = Math.max(apparentMs, policy.age() * 1_000 + delayMs);
  // Not `timeToLive`, which adds the time in which a stale answer may be used.
  const freshMs = isPublic ? Math.max(0, policy.maxAge() * 1_000 - ageMs) : 0;
  const isSilent = headers["cache-control"] === undefined && headers["expires"] === undefined;
  return { status, headers, freshMs, isPublic, isForAll: isPublic && (freshMs > 0 || isValidated || isSilent) };
}
