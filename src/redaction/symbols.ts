/**
 * Calls `emit` for each symbol of a text in its normal form, which is equal for all spellings of a text.
 *
 * A program writes a value in many spellings: unchanged, as JSON, as JSON within JSON, as `util.inspect` shows it, in a
 * URL, in a form, in HTML, as a host name. In the normal form all of these are the same symbols:
 *
 * - escapes are decoded: `%41`, `%2541`, `\u0041`, `\x41`, `&#65;` and `&#x41;` are `A`, and `&lt;` is `<`;
 * - quotes, backslashes, `+`, white space and control characters, and their escapes, are removed, because encoders add,
 * remove and exchange them;
 * - letters are lower case.
 *
 * Each symbol is one byte of UTF-8. The work is linear in the length of the text.
 *
 * @param emit receives the symbol, and the start and end of its characters in the text.
 * @param areReferencesDecoded whether character references of HTML are decoded.
 */
export function eachSymbol(
  text: string,
  emit: (symbol: number, start: number, end: number) => void,
  areReferencesDecoded = true,
): void {
  let at = 0;
  while (at < text.length) {
    const start = at;
    let code = text.codePointAt(at)!;
    at += code > 0xffff ? 2 : 1;
    if (code === AMPERSAND && areReferencesDecoded) ({ code, end: at } = characterReference(text, at));
    if (code === PERCENT) {
      const escape = percentEscape(text, at);
      if (escape) {
        at = escape.end;
        code = escape.byte;
        if (code >= 0x80) {
          const character = escapedCharacter(text, escape);
          at = character.end;
          if (character.code === null) {
            // An invalid UTF-8 byte is itself a symbol.
            emit(code, start, at);
            continue;
          }
          code = character.code;
        }
      }
    }
    if (code === BACKSLASH) {
      const escape = backslashEscape(text, at);
      at = escape.end;
      if (escape.code === null) continue;
      code = escape.code;
    }
    if (code < 0x80) {
      if (HAS_SYMBOL[code]) emit(code >= UPPER_A && code <= UPPER_Z ? code + TO_LOWER : code, start, at);
    } else emitFolded(code, start, at, emit);
  }
}

/** Emits a non-ASCII character in lower case. White space has no symbol. */
function emitFolded(
  code: number,
  start: number,
  end: number,
  emit: (symbol: number, start: number, end: number) => void,
): void {
  const character = String.fromCodePoint(code);
  if (/\s/.test(character)) return;
  const lower = character.toLowerCase();
  for (let at = 0; at < lower.length;) {
    const each = lower.codePointAt(at)!;
    emitUtf8(each, start, end, emit);
    at += each > 0xffff ? 2 : 1;
  }
}

/** Decodes a character from several URL escapes, each a byte of its UTF-8. */
function escapedCharacter(text: string, first: { byte: number; end: number }): { code: number | null; end: number } {
  const { byte } = first;
  const more = byte >= 0xf0 ? 3 : byte >= 0xe0 ? 2 : byte >= 0xc2 ? 1 : 0;
  let code = byte & (0x3f >> more);
  let at = first.end;
  for (let count = 0; count < more; count++) {
    const next = text[at] === "%" ? percentEscape(text, at + 1) : null;
    if (!next || (next.byte & 0xc0) !== 0x80) return { code: null, end: first.end };
    code = code * 64 + (next.byte & 0x3f);
    at = next.end;
  }
  return more === 0 || code > 0x10ffff ? { code: null, end: first.end } : { code, end: at };
}

const PERCENT = 0x25;
const AMPERSAND = 0x26;
const BACKSLASH = 0x5c;
const UPPER_A = 0x41;
const UPPER_Z = 0x5a;
const TO_LOWER = 0x20;
/** The character that UTF-8 encoders write for a lone surrogate. */
const REPLACEMENT = 0xfffd;

/** Whether an ASCII character has a symbol: printable characters that no encoder adds, removes or exchanges. */
const HAS_SYMBOL: readonly boolean[] = Array.from({ length: 0x80 }, (_, code) => {
  return code > 0x20 && code < 0x7f && !"'\"`\\+".includes(String.fromCharCode(code));
});

/** The escapes of characters without a symbol: line breaks, tabs and similar. */
const BLANK_ESCAPES = new Set("nrtbfv");

/**
 * Decodes a URL escape after its percent sign (RFC 3986, section 2.1). The percent sign may itself be escaped any
 * number of times (`%2541`).
 */
function percentEscape(text: string, start: number): { byte: number; end: number } | null {
  let at = start;
  while (text[at] === "2" && text[at + 1] === "5") at += 2;
  const byte = hexadecimal(text, at, 2);
  if (byte !== null) return { byte, end: at + 2 };
  return at > start ? { byte: PERCENT, end: at } : null;
}

/** The named character references that libraries write when they escape a text. */
const NAMED = new Map([
  ["lt", 0x3c],
  ["gt", 0x3e],
  ["quot", 0x22],
  ["apos", 0x27],
  ["nbsp", 0x20],
]);
/** The name or the number of a character reference: at most seven decimal or six hexadecimal digits are a code point. */
const REFERENCE = /(?:#(\d{1,7})|#[xX]([0-9a-fA-F]{1,6})|(lt|gt|quot|apos|nbsp));/y;

/**
 * Decodes a character reference of HTML after its ampersand (HTML, section 13.1.4). The ampersand may itself be escaped any
 * number of times (`&amp;lt;`).
 */
function characterReference(text: string, start: number): { code: number; end: number } {
  let at = start;
  while (text.startsWith("amp;", at)) at += 4;
  REFERENCE.lastIndex = at;
  const [, decimal, hex, name] = REFERENCE.exec(text) ?? [];
  const code =
    name === undefined ? Number.parseInt(decimal ?? hex ?? "", decimal === undefined ? 16 : 10) : NAMED.get(name)!;
  return code <= 0x10ffff ? { code, end: REFERENCE.lastIndex } : { code: AMPERSAND, end: at };
}

/**
 * Decodes an escape of JSON or JavaScript after its backslash. The backslash may itself be escaped any number of times.
 *
 * @returns `code: null` for a character without a symbol.
 */
function backslashEscape(text: string, start: number): { code: number | null; end: number } {
  let at = start;
  while (text[at] === "\\") at += 1;
  const kind = text[at];
  if (kind === undefined) return { code: null, end: at };
  if (BLANK_ESCAPES.has(kind)) return { code: null, end: at + 1 };
  const digits = kind === "u" ? 4 : kind === "x" ? 2 : 0;
  const code = digits === 0 ? null : hexadecimal(text, at + 1, digits);
  if (code === null) return { code: null, end: at };
  const end = at + 1 + digits;
  return isHighSurrogate(code) ? surrogatePair(text, code, end) : { code, end };
}

function surrogatePair(text: string, high: number, start: number): { code: number; end: number } {
  let at = start;
  while (text[at] === "\\") at += 1;
  const low = at > start && text[at] === "u" ? hexadecimal(text, at + 1, 4) : null;
  if (low === null || low < 0xdc00 || low > 0xdfff) return { code: high, end: start };
  return { code: 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00), end: at + 5 };
}

function isHighSurrogate(code: number): boolean {
  return code >= 0xd800 && code <= 0xdbff;
}

function hexadecimal(text: string, start: number, digits: number): number | null {
  let value = 0;
  for (let at = start; at < start + digits; at++) {
    const digit = hexDigit(text.charCodeAt(at));
    if (digit < 0) return null;
    value = value * 16 + digit;
  }
  return value;
}

function hexDigit(code: number): number {
  if (code >= 0x30 && code <= 0x39) return code - 0x30;
  const lower = code | TO_LOWER;
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x61 + 10 : -1;
}

function emitUtf8(
  codePoint: number,
  start: number,
  end: number,
  emit: (symbol: number, start: number, end: number) => void,
): void {
  const code = codePoint >= 0xd800 && codePoint <= 0xdfff ? REPLACEMENT : codePoint;
  if (code < 0x800) emit(0xc0 | (code >> 6), start, end);
  else {
    if (code < 0x10000) emit(0xe0 | (code >> 12), start, end);
    else {
      emit(0xf0 | (code >> 18), start, end);
      emit(0x80 | ((code >> 12) & 0x3f), start, end);
    }
    emit(0x80 | ((code >> 6) & 0x3f), start, end);
  }
  emit(0x80 | (code & 0x3f), start, end);
}

/**
 * The maximum number of symbols of one UTF-16 code unit: three bytes of UTF-8, twice if its lower case is two letters.
 */
export const MAX_SYMBOLS = 6;

/** Returns all symbols of a text. @param areReferencesDecoded whether character references of HTML are decoded */
export function symbolsOf(text: string, areReferencesDecoded = true): Uint8Array {
  const symbols = new Uint8Array(text.length * MAX_SYMBOLS);
  let count = 0;
  eachSymbol(text, (symbol) => (symbols[count++] = symbol), areReferencesDecoded);
  return symbols.slice(0, count);
}
