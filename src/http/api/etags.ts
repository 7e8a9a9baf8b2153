/** An entity tag (RFC 9110, section 8.8.3). A tag may contain commas. */
const TAG = /(W\/)?"([\u{21}\u{23}-\u{7e}\u{80}-\u{ff}]*)"/gu;

/** The headers that make a request conditional. */
export interface Conditions {
  readonly "if-match"?: string | undefined;
  readonly "if-none-match"?: string | undefined;
}

/**
 * Whether the request satisfies its `If-Match` header (RFC 9110, section 13.1.1), which compares strongly.
 *
 * @param etag the strong tag without its quotes, or null if nothing exists at the path
 */
export function matches(etag: string | null, { "if-match": header }: Conditions): boolean {
  return header === undefined || lists(header, etag, false);
}

/** Whether the request satisfies its `If-None-Match` header (RFC 9110, section 13.1.2), which compares weakly. */
export function matchesNone(etag: string | null, { "if-none-match": header }: Conditions): boolean {
  return header === undefined || !lists(header, etag, true);
}

function lists(header: string, etag: string | null, allowWeak: boolean): boolean {
  if (etag === null) return false;
  if (header.trim() === "*") return true;
  for (const [, weak, tag] of header.matchAll(TAG)) {
    if (tag === etag && (allowWeak || weak === undefined)) return true;
  }
  return false;
}
