/**
 * Receives what the scanner reads. A depth counts the arrays and objects around a member; the outermost has 1. A
 * position is a byte offset.
 */
export interface JsonVisitor {
  /** Called at the start of an object; `depth` is the depth of its members. */
  opened?(depth: number): void;
  /** Called after the name of a member, quotes included, and before its value. It may throw. */
  named?(depth: number, start: number, end: number): void;
  /** Called after the value of a member. */
  member?(depth: number, name: Span, value: Span): void;
}

/** The offsets of the first byte and of the byte after the last. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** The text is not JSON from this byte on. The error does not quote the text, because it may contain secrets. */
export class MalformedJson extends Error {
  override readonly name = "MalformedJson";
  readonly at: number;

  constructor(at: number) {
    super(`malformed JSON at byte ${at}`);
    this.at = at;
  }
}

/** Arrays and objects are nested deeper than allowed. */
export class DeepJson extends Error {
  override readonly name = "DeepJson";
  readonly at: number;

  constructor(at: number) {
    super(`JSON that is too deep at byte ${at}`);
    this.at = at;
  }
}

/**
 * Checks JSON (RFC 8259) in UTF-8 in parts and builds no values. A text of some megabytes takes tens of milliseconds,
 * and the service's only thread must serve other requests meanwhile. The scanner accepts what `JSON.parse` accepts.
 */
export class JsonScanner {
  readonly #bytes: Uint8Array;
  readonly #maxDepth: number;
  readonly #visitor: JsonVisitor;
  #at: number;
  #depth = 0;
  #expected: Expected = Expected.value;
  /** For each depth: whether it is an object, the span of the current member's name, and the start of its value. */
  readonly #isObject: Uint8Array;
  readonly #nameStarts: Int32Array;
  readonly #nameEnds: Int32Array;
  readonly #valueStarts: Int32Array;

  /** @param start the offset of the first byte to check. */
  constructor(bytes: Uint8Array, maxDepth: number, visitor: JsonVisitor = {}, start = 0) {
    this.#bytes = bytes;
    this.#maxDepth = maxDepth;
    this.#visitor = visitor;
    this.#at = start;
    this.#isObject = new Uint8Array(maxDepth + 1);
    this.#nameStarts = new Int32Array(maxDepth + 1);
    this.#nameEnds = new Int32Array(maxDepth + 1);
    this.#valueStarts = new Int32Array(maxDepth + 1);
  }

  /**
   * Checks about `count` more bytes, to the end of the string or number that contains the last of them.
   *
   * @returns whether the whole text is checked.
   * @throws {MalformedJson | DeepJson} or the error of the visitor.
   */
  advance(count: number): boolean {
    const bytes = this.#bytes;
    const until = Math.min(bytes.length, this.#at + count);
    while (this.#at < until) {
      const byte = bytes[this.#at]!;
      if (byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09) this.#at += 1;
      else this.#token(byte);
    }
    if (this.#at < bytes.length) return false;
    if (this.#expected !== Expected.end) throw new MalformedJson(bytes.length);
    return true;
  }

  #token(byte: number): void {
    const at = this.#at;
    switch (this.#expected) {
      case Expected.firstValue:
        return byte === CLOSE_BRACKET ? this.#close() : this.#value(byte);
      case Expected.value:
        return this.#value(byte);
      case Expected.firstName:
        if (byte === CLOSE_BRACE) return this.#close();
        return this.#name(byte);
      case Expected.name:
        return this.#name(byte);
      case Expected.colon:
        if (byte !== COLON) throw new MalformedJson(at);
        this.#at += 1;
        this.#expected = Expected.value;
        return;
      case Expected.commaOrBrace:
        if (byte === CLOSE_BRACE) return this.#close();
        if (byte !== COMMA) throw new MalformedJson(at);
        this.#at += 1;
        this.#expected = Expected.name;
        return;
      case Expected.commaOrBracket:
        if (byte === CLOSE_BRACKET) return this.#close();
        if (byte !== COMMA) throw new MalformedJson(at);
        this.#at += 1;
        this.#expected = Expected.value;
        return;
      default:
        throw new MalformedJson(at);
    }
  }

  #name(byte: number): void {
    const start = this.#at;
    if (byte !== QUOTE) throw new MalformedJson(start);
    this.#at = endOfString(this.#bytes, start);
    this.#nameStarts[this.#depth] = start;
    this.#nameEnds[this.#depth] = this.#at;
    this.#expected = Expected.colon;
    this.#visitor.named?.(this.#depth, start, this.#at);
  }

  #value(byte: number): void {
    const start = this.#at;
    this.#valueStarts[this.#depth] = start;
    if (byte === OPEN_BRACE || byte === OPEN_BRACKET) return this.#open(byte === OPEN_BRACE);
    if (byte === QUOTE) this.#at = endOfString(this.#bytes, start);
    else if (byte === MINUS || isDigit(byte)) this.#at = endOfNumber(this.#bytes, start);
    else this.#at = endOfWord(this.#bytes, start);
    this.#endValue();
  }

  #open(isObject: boolean): void {
    if (this.#depth === this.#maxDepth) throw new DeepJson(this.#at);
    this.#depth += 1;
    this.#isObject[this.#depth] = isObject ? 1 : 0;
    this.#expected = isObject ? Expected.firstName : Expected.firstValue;
    this.#at += 1;
    if (isObject) this.#visitor.opened?.(this.#depth);
  }

  #close(): void {
    this.#depth -= 1;
    this.#at += 1;
    this.#endValue();
  }

  #endValue(): void {
    const depth = this.#depth;
    if (depth === 0) {
      this.#expected = Expected.end;
      return;
    }
    const isMember = this.#isObject[depth] === 1;
    this.#expected = isMember ? Expected.commaOrBrace : Expected.commaOrBracket;
    if (!isMember || !this.#visitor.member) return;
    const name = { start: this.#nameStarts[depth]!, end: this.#nameEnds[depth]! };
    this.#visitor.member(depth, name, { start: this.#valueStarts[depth]!, end: this.#at });
  }
}

const Expected = {
  value: 0,
  firstValue: 1,
  name: 2,
  firstName: 3,
  colon: 4,
  commaOrBrace: 5,
  commaOrBracket: 6,
  end: 7,
} as const;
type Expected = (typeof Expected)[keyof typeof Expected];

/** Returns the offset of the byte after the closing quote. */
function endOfString(bytes: Uint8Array, start: number): number {
  for (let at = start + 1; at < bytes.length; at += 1) {
    const byte = bytes[at]!;
    if (byte === QUOTE) return at + 1;
    if (byte < 0x20) throw new MalformedJson(at);
    if (byte !== BACKSLASH) continue;
    at += 1;
    const escaped = bytes[at];
    if (escaped === LETTER_U) {
      for (let digit = 1; digit <= 4; digit += 1) if (!isHexDigit(bytes[at + digit])) throw new MalformedJson(at - 1);
      at += 4;
    } else if (escaped === undefined || !ESCAPED.has(escaped)) throw new MalformedJson(at - 1);
  }
  throw new MalformedJson(bytes.length);
}

function endOfNumber(bytes: Uint8Array, start: number): number {
  let at = start;
  if (bytes[at] === MINUS) at += 1;
  if (bytes[at] === ZERO) at += 1;
  else at = endOfDigits(bytes, at);
  if (bytes[at] === DOT) at = endOfDigits(bytes, at + 1);
  if (bytes[at] === LETTER_E || bytes[at] === LETTER_E - 0x20) {
    at += 1;
    if (bytes[at] === PLUS || bytes[at] === MINUS) at += 1;
    at = endOfDigits(bytes, at);
  }
  return at;
}

/** Requires at least one digit. */
function endOfDigits(bytes: Uint8Array, start: number): number {
  let at = start;
  while (isDigit(bytes[at])) at += 1;
  if (at === start) throw new MalformedJson(at);
  return at;
}

function endOfWord(bytes: Uint8Array, start: number): number {
  const word = WORDS.find((each) => each[0] === bytes[start]);
  if (!word?.every((byte, offset) => bytes[start + offset] === byte)) throw new MalformedJson(start);
  return start + word.length;
}

function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= ZERO && byte <= ZERO + 9;
}

function isHexDigit(byte: number | undefined): boolean {
  if (isDigit(byte)) return true;
  const lower = (byte ?? 0) | 0x20;
  return lower >= 0x61 && lower <= 0x66;
}

const WORDS = ["true", "false", "null"].map((word) => Buffer.from(word));
const ESCAPED = new Set(Buffer.from('"\\/bfnrt'));
const QUOTE = 0x22;
const PLUS = 0x2b;
const COMMA = 0x2c;
const MINUS = 0x2d;
const DOT = 0x2e;
const ZERO = 0x30;
const COLON = 0x3a;
const OPEN_BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_BRACKET = 0x5d;
const LETTER_E = 0x65;
const LETTER_U = 0x75;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
