import { Problem } from "../../errors.ts";

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

/** @throws {Problem} `precondition_failed` unless the request satisfies its `If-Match` */
export function requireMatch(etag: string | null, headers: Conditions): void {
  if (matches(etag, headers)) return;
  if (etag === null) {
    throw failed(
      "the container has no task with this name, and If-Match requires one",
      "Leave If-Match out to make it.",
    );
  }
  const header = headers["if-match"]!;
  if (!header.includes('"')) {
    throw failed("the entity tag in If-Match is not in double quotes", `Send it as in the header ETag: "${etag}".`);
  }
  if (/W\/"/.test(header)) {
    throw failed("If-Match compares strongly, and its entity tag is weak", "Send the tag without W/ before it.");
  }
  throw failed("the ETag of the task does not match If-Match: another client has changed the task", READ_AGAIN);
}

/** @throws {Problem} `precondition_failed` unless the request satisfies its `If-None-Match` */
export function requireNoMatch(etag: string | null, headers: Conditions): void {
  if (matchesNone(etag, headers)) return;
  const isAny = headers["if-none-match"]!.trim() === "*";
  throw failed(
    isAny
      ? "the task exists already, and If-None-Match: * permits only a new one"
      : "the ETag of the task matches If-None-Match",
    isAny ? "Leave If-None-Match out to change the task." : READ_AGAIN,
  );
}

const READ_AGAIN = "Read the task again, and send its new ETag as If-Match.";

function failed(detail: string, hint: string): Problem {
  return new Problem("precondition_failed", detail, { hint });
}

function lists(header: string, etag: string | null, allowWeak: boolean): boolean {
  if (etag === null) return false;
  if (header.trim() === "*") return true;
  for (const [, weak, tag] of header.matchAll(TAG)) {
    if (tag === etag && (allowWeak || weak === undefined)) return true;
  }
  return false;
}
