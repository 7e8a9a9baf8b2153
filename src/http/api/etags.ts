/** An entity tag (RFC 9110, section 8.8.3), which may hold commas. */
const TAG = /(W\/)?"([\u{21}\u{23}-\u{7e}\u{80}-\u{ff}]*)"/gu;

/** The conditions of a request, as its headers give them. */
export interface Conditions {
  readonly "if-match"?: string | undefined;
  readonly "if-none-match"?: string | undefined;
}

/**
 * Whether `If-Match` lets the request through (RFC 9110, section 13.1.1): the comparison is strong.
 *
 * @param etag strong and without its quotes, or null if there is nothing at the path.
 */
export function matches(etag: string | null, { "if-match": given }: Conditions): boolean {
  return given === undefined || names(etag, given, false);
}

/** Whether `If-None-Match` lets the request through (RFC 9110, section 13.1.2): the comparison is weak. */
export function matchesNone(etag: string | null, { "if-none-match": given }: Conditions): boolean {
  return given === undefined || !names(etag, given, true);
}

function names(etag: string | null, given: string, weakly: boolean): boolean {
  if (etag === null) return false;
  if (given.trim() === "*") return true;
  for (const [, weak, tag] of given.matchAll(TAG)) {
    if (tag === etag && (weakly || weak === undefined)) return true;
  }
  return false;
}
