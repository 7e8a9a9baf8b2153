/** The `typ` of the service's tokens, in lower case. */
const TYPE = "caisson+jwt";
/** A part of a text that may contain the head of a token in base64url, or a text with a token in base64. */
const ENCODED = /[A-Za-z0-9_\-+/]{20,}/g;
const ESCAPE = /%([\dA-Fa-f]{2})/g;
/** How often a token may be encoded: in base64url, in base64 as the user or the password of `Basic`, and once more. */
const MAX_DEPTH = 3;
/** Four characters of base64 are three bytes, so text before a token shifts its characters by up to three. */
const SHIFTS = [0, 1, 2, 3];

/**
 * Whether a text contains a token of this service, valid or not: the head of a compact JWS with `typ: caisson+jwt`, at any
 * place, and in base64 and percent-encoded too. A public task receives the credentials of its clients, but never one that this
 * service accepts.
 *
 * @param text a header or a parameter of the query, so that its length is bounded
 */
export function holdsOwnToken(text: string): boolean {
  const once = unescaped(text);
  return holds(text, MAX_DEPTH) || (once !== text && (holds(once, MAX_DEPTH) || holds(unescaped(once), MAX_DEPTH)));
}

/** Replaces each escape by its character, also in a text that is not escaped in a valid way. */
export function unescaped(text: string): string {
  return text.replace(ESCAPE, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
}

function holds(text: string, depth: number): boolean {
  for (const [part] of text.matchAll(ENCODED)) {
    for (const shift of SHIFTS) {
      const decoded = Buffer.from(part.slice(shift), "base64").toString("latin1");
      if (isOwnHead(decoded) || (depth > 1 && holds(decoded, depth - 1))) return true;
    }
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
