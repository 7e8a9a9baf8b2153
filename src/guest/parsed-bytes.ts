const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const LIST = 0x5b;
const OBJECT = 0x7b;
const ZERO = 0x30;
const NINE = 0x39;

/** The text of a body, which takes at most two bytes a character in V8, and as much while it is decoded. */
const TEXT_FACTOR = 2;
/** What V8 takes at most, in bytes, for an array with a value, an object, and what a comma, a text or the name of a member adds. */
const LIST_BYTES = 56;
const OBJECT_BYTES = 56;
const VALUE_BYTES = 24;
const TEXT_BYTES = 16;
const NAME_BYTES = 96;
/** A member such as `"34"` makes V8 allocate the slots of all smaller numbers in its object. */
const NUMBERED_BYTES = 200;
/** More than V8 takes for any character of JSON, with the text itself. */
const MOST_FACTOR = 64;
/** A shorter body is not scanned. */
const SHORT_BYTES = 4 * 2 ** 10;

/** Returns what a body that is no JSON takes at most when it is parsed, in bytes. */
export function textBytes(body: Uint8Array): number {
  return TEXT_FACTOR * body.length;
}

/**
 * Returns what the value of a JSON text takes at most in V8, in bytes. Four megabytes of text can be values of two hundred: this is known
 * before they are parsed, because a guest that has too little memory ends.
 */
export function jsonBytes(body: Uint8Array): number {
  const { length } = body;
  if (length <= SHORT_BYTES) return MOST_FACTOR * length;
  let bytes = TEXT_FACTOR * length;
  let textStart = 0;
  for (let at = 0; at < length; at += 1) {
    const byte = body[at]!;
    if (byte === QUOTE) {
      textStart = at + 1;
      bytes += TEXT_BYTES;
      for (at += 1; at < length && body[at] !== QUOTE; at += 1) if (body[at] === BACKSLASH) at += 1;
    } else if (byte === COMMA) bytes += VALUE_BYTES;
    else if (byte === LIST) bytes += LIST_BYTES;
    else if (byte === OBJECT) bytes += OBJECT_BYTES;
    else if (byte === COLON) {
      const first = body[textStart] ?? 0;
      bytes += NAME_BYTES + (first === BACKSLASH || (first >= ZERO && first <= NINE) ? NUMBERED_BYTES : 0);
    }
  }
  return bytes;
}
