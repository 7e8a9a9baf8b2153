/** The `typ` of the service's tokens, in lower case. */
const TYPE = "caisson+jwt";
/** A part of a text that may contain the head of a token in base64url, or a text with a token in base64. */
const ENCODED = /[A-Za-z0-9_\-+/]{20,}/g;
const ESCAPE = /%([\dA-Fa-f]{2})/g;
/** How often a token may be encoded: in base64url, in base64 as the user or the password of `Basic`, and further times. */
const MAX_DEPTH = 8;
/** The characters that are decoded at most. A text that needs more counts as one with a token: no credential is that long. */
const MAX_DECODED = 32 * 1_024;
/** The characters that take as long to decode as a JSON text takes to parse, which throws if it is none. */
const PARSED = 1_024;

/** Four characters of base64 are three bytes, so text before a token shifts its characters by up to three. */
const SHIFTS = [0, 1, 2, 3];

/** How much may still be decoded. The texts of one request share it, so that many of them take no longer than one. */
export class DecodingBudget {
  characters: number = MAX_DECODED;
}

/**
 * Whether a text contains a token of this service, valid or not: the head of a compact JWS with `typ: caisson+jwt`, at any
 * place, and in base64 and percent-encoded too. A public task receives the credentials of its clients, but never one that this
 * service accepts.
 *
 * @param text a header or a parameter of the query, so that its length is bounded
 */
export function holdsOwnToken(text: string, left: DecodingBudget = new DecodingBudget()): boolean {
  if (left.characters < 0) return true;
  const once = unescaped(text);
  if (holds(text, MAX_DEPTH, left)) return true;
  if (once === text) return false;
  if (holds(once, MAX_DEPTH, left)) return true;
  const twice = unescaped(once);
  return twice !== once && holds(twice, MAX_DEPTH, left);
}

/** Replaces each escape by its character, also in a text that is not escaped in a valid way. */
export function unescaped(text: string): string {
  return text.replace(ESCAPE, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
}

function holds(text: string, depth: number, left: DecodingBudget): boolean {
  for (const [part] of text.matchAll(ENCODED)) {
    for (const shift of SHIFTS) {
      left.characters -= part.length;
      if (left.characters < 0) return true;
      const decoded = Buffer.from(part.slice(shift), "base64").toString("latin1");
      if (isOwnHead(decoded, left) || (depth > 1 && holds(decoded, depth - 1, left))) return true;
    }
  }
  return false;
}

/** Also for a head whose JSON is cut or has other escapes: the service issues none, but it still looks like one. */
function isOwnHead(decoded: string, left: DecodingBudget): boolean {
  if (decoded.toLowerCase().includes(TYPE)) return true;
  // Only with escapes, the type is written in another way.
  if (!decoded.startsWith("{") || !decoded.includes("\\")) return false;
  left.characters -= PARSED;
  try {
    const { typ } = JSON.parse(decoded) as { typ?: unknown };
    return typeof typ === "string" && typ.toLowerCase().endsWith(TYPE);
  } catch {
    return false;
  }
}
