import type { IncomingHttpHeaders } from "node:http";

/** What an answer says of its reuse by a shared cache (RFC 9111). */
export interface Reuse {
  /**
   * Whom else it may be given to: everybody; those who had asked before it was sent for, since to them it is as new as
   * one of their own; or nobody.
   */
  readonly others: "all" | "earlier" | "none";
  /** Milliseconds for which it is given out unasked; 0 when it has to be validated each time. */
  readonly freshMs: number;
}

/**
 * Reads `Cache-Control`, `Expires`, `Age`, `Date` and `Vary`. Nothing is guessed: what names no time is not fresh.
 *
 * `Vary` other than `*` says nothing here, because all our requests are alike.
 *
 * @param delayMs from the request to the end of its answer, in which it may have aged (RFC 9111, 4.2.3).
 * @param maxFreshMs the most that is believed.
 */
export function reuseOf(
  status: number,
  headers: IncomingHttpHeaders,
  { delayMs, maxFreshMs }: { readonly delayMs: number; readonly maxFreshMs: number },
): Reuse {
  const directives = directivesOf(headers["cache-control"] ?? "");
  // With names of fields, private and no-cache mean a part of the answer; without a use for parts, they mean all of it.
  const forbidden = directives.has("no-store") || directives.has("private") || (headers.vary ?? "").includes("*");
  if (forbidden || !KNOWN_STATUSES.has(status)) return { others: "none", freshMs: 0 };
  const nowMs = Date.now();
  const dateMs = httpDate(headers.date) ?? nowMs;
  const lifetimeMs = lifetimeOf(directives, headers.expires, dateMs);
  // A date has no parts of a second: those would make what is good for one second never good.
  const apparentMs = Math.floor((nowMs - dateMs) / 1_000) * 1_000;
  const ageMs = Math.max(apparentMs, seconds(headers.age) + delayMs);
  const validated = directives.has("no-cache") || lifetimeMs === null;
  const freshMs = validated ? 0 : Math.min(Math.max(0, lifetimeMs - ageMs), maxFreshMs);
  const stale = directives.has("no-cache") || (lifetimeMs !== null && freshMs === 0);
  return { others: stale ? "earlier" : "all", freshMs };
}

/** The headers of a stored answer after a 304 (RFC 9111, 3.2): those that came replace those that were there. */
export function updated(stored: IncomingHttpHeaders, came: IncomingHttpHeaders): IncomingHttpHeaders {
  // These two speak of one message. A 304 without them is as old as it seems.
  const { age: _age, date: _date, ...rest } = stored;
  return { ...rest, ...ruling(came) };
}

/** The headers that later decisions need; an answer may have many more. */
export function ruling(headers: IncomingHttpHeaders): IncomingHttpHeaders {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => RULING.has(name)));
}

/** The headers that ask whether a stored answer is still good (RFC 9110, 13.1); none when it cannot be asked. */
export function conditions({ etag, "last-modified": modified }: IncomingHttpHeaders): Record<string, string> {
  return {
    ...(etag !== undefined && ENTITY_TAG.test(etag) && { "If-None-Match": etag }),
    ...(httpDate(modified) !== null && { "If-Modified-Since": modified! }),
  };
}

/** Whether a 304 speaks of the stored answer (RFC 9111, 4.3.4); some servers send it whatever they are asked. */
export function confirms(came: IncomingHttpHeaders, stored: IncomingHttpHeaders): boolean {
  if (came.etag !== undefined) return opaque(came.etag) === opaque(stored.etag ?? "");
  const modified = came["last-modified"];
  return modified === undefined || modified === stored["last-modified"];
}

/** Those whose meaning for a cache is known here: code, and where it is. */
const KNOWN_STATUSES: ReadonlySet<number> = new Set([200, 203, 301, 302, 303, 307, 308]);
const RULING: ReadonlySet<string> = new Set([
  ...["cache-control", "expires", "date", "age", "vary"],
  ...["etag", "last-modified"],
]);
const DIRECTIVE = /([!#$%&'*+.^_`|~\w-]+)(?:\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,;"]*)))?/g;
const ENTITY_TAG = /^(?:W\/)?"[\x21\x23-\x7e\x80-\xff]*"$/;
const FIXED_DATE = /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/;

/** Of a directive that is given twice, the first counts. */
function directivesOf(text: string): ReadonlyMap<string, string> {
  const directives = new Map<string, string>();
  for (const [, name, quoted, token] of text.matchAll(DIRECTIVE)) {
    const key = name!.toLowerCase();
    if (!directives.has(key)) directives.set(key, quoted ?? token ?? "");
  }
  return directives;
}

/** @returns null when the answer names none; 0 when it names one that cannot be read. */
function lifetimeOf(directives: ReadonlyMap<string, string>, expires: string | undefined, dateMs: number) {
  const maxAge = directives.get("s-maxage") ?? directives.get("max-age");
  if (maxAge !== undefined) return seconds(maxAge);
  if (expires === undefined) return null;
  // Whatever is no date is in the past (RFC 9111, 5.3), `0` above all.
  return (httpDate(expires) ?? dateMs) - dateMs;
}

/** @returns milliseconds; 0 for what is no number of seconds. */
function seconds(text: string | undefined): number {
  return text !== undefined && /^\d+$/.test(text) ? Number(text) * 1_000 : 0;
}

/** The one form of dates that is still sent (RFC 9110, 5.6.7); in the two obsolete ones nothing is believed. */
function httpDate(text: string | undefined): number | null {
  const value = text !== undefined && FIXED_DATE.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(value) ? null : value;
}

/** Weak comparison (RFC 9110, 8.8.3.2). */
function opaque(etag: string): string {
  return etag.replace(/^W\//, "");
}
