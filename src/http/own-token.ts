/** The `typ` of the service's tokens, in lower case. */
const TYPE = "caisson+jwt";
/** A part of a text that may be the head of a token in base64url, or user and password of `Basic` in base64. */
const ENCODED = /[A-Za-z0-9_\-+/]{8,}/g;
/** A token in the user or the password of `Basic` is encoded twice. */
const MAX_DEPTH = 2;

/**
 * Whether a text contains a token of this service, valid or not: the head of a compact JWS with `typ: caisson+jwt`, at any
 * place and in base64 too. A public task receives the credentials of its clients, but never one that this service accepts.
 *
 * @param text a header or a parameter of the query, so that its length is bounded
 */
export function holdsOwnToken(text: string, depth: number = MAX_DEPTH): boolean {
  for (const [part] of text.matchAll(ENCODED)) {
    const decoded = Buffer.from(part, "base64").toString("latin1");
    if (isOwnHead(decoded)) return true;
    if (depth > 1 && holdsOwnToken(decoded, depth - 1)) return true;
  }
  return false;
}

/** Also for a head whose JSON is cut or has other escapes: the service issues none, but it still looks like one. */
function isOwnHead(decoded: string): boolean {
  if (decoded.toLowerCase().includes(TYPE)) return true;
  if (!decoded.startsWith("{")) return false;
  try {
    const { typ } = JSON.parse(decoded) as { typ?: unknown };
    return typeof typ === "string" && typ.toLowerCase().endsWith(TYPE);
  } catch {
    return false;
  }
}
