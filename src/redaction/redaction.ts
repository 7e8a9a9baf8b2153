import { domainToASCII } from "node:url";

import { Problem } from "../errors.ts";
import { Automaton, START } from "./automaton.ts";
import { eachSymbol, MAX_SYMBOLS, symbolsOf } from "./symbols.ts";

/** The minimum number of symbols of a secret. A shorter secret occurs by chance in many texts. */
const MIN_SYMBOLS = 4;
const MASK = "[secret]";
/**
 * The maximum number of characters of all secrets together. Construction of the automaton for more would delay other
 * callers too long, so every text is then masked as a whole.
 */
const MAX_SECRET_CHARS = 96 * 2 ** 10;
/** The mark with which the guest truncates a text, a line, or a part of a text such as a name. */
const CUT = /…/g;
/** The mark with which V8 and Node truncate a quotation. */
const QUOTE_CUT = /\.\.\./g;
/**
 * The characters before the suffix that may be V8's quotation: 10 before and 10 after a syntax error, and V8's own
 * text.
 */
const V8_QUOTE = " is not valid JSON";
const V8_QUOTE_CHARS = 48;

/**
 * Removes secrets from texts that are logged or sent to clients, in every common spelling (`symbols.ts` lists them).
 *
 * The work is always linear in the total length of the text and the secrets, because a task chooses both and the
 * service has a single thread.
 */
export class Redaction {
  readonly #secrets: readonly string[];
  readonly #isTooLong: boolean;
  #built: Built | null = null;
  #starts = new Uint32Array(0);

  constructor(secrets: readonly string[]) {
    this.#secrets = secrets;
    this.#isTooLong = secrets.reduce((sum, { length }) => sum + length, 0) > MAX_SECRET_CHARS;
  }

  text(text: string): string {
    if (text === "" || this.#secrets.length === 0) return text;
    return this.#isTooLong ? MASK : masked(text, this.#rangesOf(text));
  }

  /** Redacts all strings of a JSON value, and the names of its members. */
  value<T>(value: T): T {
    return this.#value(value) as T;
  }

  #value(value: unknown): unknown {
    if (typeof value === "string") return this.text(value);
    if (typeof value !== "object" || value === null) return value;
    if (Array.isArray(value)) return value.map((each) => this.#value(each));
    return Object.fromEntries(Object.entries(value).map(([name, each]) => [this.text(name), this.#value(each)]));
  }

  /** Redacts a `Problem`. Any other error is a bug in the service: clients do not see its details. */
  error(error: unknown): unknown {
    return error instanceof Problem ? this.problem(error) : error;
  }

  /** Redacts the answer to a client and its log line, which can contain the last output of a guest. */
  problem(problem: Problem): Problem {
    const { hint, violations, error: taskError, at, cause, ...rest } = problem.options;
    return new Problem(problem.code, this.text(problem.message), {
      ...rest,
      ...(hint !== undefined && { hint: this.text(hint) }),
      ...(violations && { violations: this.value(violations) }),
      ...(taskError && { error: this.value(taskError) }),
      // Code in a guest can write the message of the guest itself, with any text as the position.
      ...(at && { at: this.value(at) }),
      ...(cause !== undefined && { cause: cause instanceof Error ? new Error(this.text(cause.message)) : cause }),
    });
  }

  #rangesOf(text: string): Range[] {
    const { automaton } = this.#build();
    const starts = this.#startsFor(text);
    const ranges: Range[] = [];
    const cuts = cutsOf(text);
    let cut = 0;
    let count = 0;
    let state = START;
    let lastEnd = 0;
    const maskPrefix = (least: number): void => {
      const prefixLength = automaton.prefixLength(state);
      if (prefixLength >= least && prefixLength > 0) addRange(ranges, starts[count - prefixLength]!, lastEnd);
    };
    eachSymbol(text, (symbol, start, end) => {
      while (cut < cuts.length && cuts[cut]!.at <= start) maskPrefix(cuts[cut++]!.least);
      starts[count++] = start;
      lastEnd = end;
      state = automaton.next(state, symbol);
      const length = automaton.matchLength(state);
      if (length > 0) addRange(ranges, starts[count - length]!, end);
    });
    while (cut < cuts.length) maskPrefix(cuts[cut++]!.least);
    // A text without a mark may be truncated too. But its end may also be a word that begins like a secret.
    maskPrefix(MIN_SYMBOLS);
    const quoted = this.#quotedPieces(text);
    return quoted.length === 0 ? ranges : [...ranges, ...quoted].toSorted((a, b) => a.start - b.start);
  }

  /**
   * Returns the buffer for the start of each symbol. All texts share it, because an error may have tens of thousands of
   * texts.
   */
  #startsFor(text: string): Uint32Array {
    const symbols = text.length * MAX_SYMBOLS;
    if (this.#starts.length < symbols) this.#starts = new Uint32Array(symbols);
    return this.#starts;
  }

  /** Finds pieces from the middle of a secret, which V8 quotes in the message of a JSON syntax error. */
  #quotedPieces(text: string): Range[] {
    const ranges: Range[] = [];
    for (let index = text.indexOf(V8_QUOTE); index >= 0; index = text.indexOf(V8_QUOTE, index + 1)) {
      const from = Math.max(0, index - V8_QUOTE_CHARS);
      const starts: number[] = [];
      let piece = 0;
      eachSymbol(text.slice(from, index), (symbol, start, end) => {
        starts.push(from + start);
        piece = ((piece << 8) | symbol) >>> 0;
        if (starts.length < PIECE_SYMBOLS || !this.#pieces.has(piece)) return;
        addRange(ranges, starts.at(-PIECE_SYMBOLS)!, from + end);
      });
    }
    return ranges;
  }

  /** Builds the automaton at its first use, because most runs log nothing. */
  #build(): Built {
    if (this.#built) return this.#built;
    const spellings = this.#secrets.flatMap((secret) => [secret, ...hostSpelling(secret)]);
    const patterns = spellings.flatMap(patternsOf).filter(({ length }) => length >= MIN_SYMBOLS);
    this.#built = { patterns, automaton: new Automaton(patterns), pieces: null };
    return this.#built;
  }

  get #pieces(): ReadonlySet<number> {
    const built = this.#build();
    return (built.pieces ??= piecesOf(built.patterns));
  }
}

interface Built {
  readonly patterns: readonly Uint8Array[];
  readonly automaton: Automaton;
  pieces: ReadonlySet<number> | null;
}

/**
 * Returns the symbols of a secret in two forms, if it contains what looks like a character reference of HTML: a text that
 * contains the secret as it is has this reference decoded, and a URL, which escapes the ampersand, does not.
 */
function patternsOf(secret: string): Uint8Array[] {
  const decoded = symbolsOf(secret);
  return /&[#a-z]/.test(secret) ? [decoded, symbolsOf(secret, false)] : [decoded];
}

/** Returns the spelling of a non-ASCII secret in a host name (RFC 3492). */
function hostSpelling(secret: string): string[] {
  if (secret.length > MAX_HOST_CHARS || /^[ -~]*$/.test(secret)) return [];
  const name = domainToASCII(secret);
  return name === "" ? [] : [name];
}

/** The maximum number of characters of a DNS name. */
const MAX_HOST_CHARS = 253;

/** The number of symbols that fit in 32 bits. */
const PIECE_SYMBOLS = 4;

function piecesOf(patterns: readonly Uint8Array[]): ReadonlySet<number> {
  const pieces = new Set<number>();
  for (const pattern of patterns) {
    let piece = 0;
    for (const [at, symbol] of pattern.entries()) {
      piece = ((piece << 8) | symbol) >>> 0;
      if (at >= PIECE_SYMBOLS - 1) pieces.add(piece);
    }
  }
  return pieces;
}

/**
 * Returns the truncations of a text in order, each with the minimum number of symbols of a secret before it that are
 * masked.
 */
function cutsOf(text: string): { at: number; least: number }[] {
  if (!text.includes("…") && !text.includes("...")) return [];
  const cuts = [...text.matchAll(CUT)].map(({ index }) => {
    const after = text[index + 1];
    // Within a line, the mark is often no truncation.
    return { at: index, least: after === undefined || after === "\n" ? 1 : MIN_SYMBOLS };
  });
  for (const { index } of text.matchAll(QUOTE_CUT)) cuts.push({ at: index, least: MIN_SYMBOLS });
  return cuts.toSorted((a, b) => a.at - b.at);
}

/** A part of a text to mask. */
interface Range {
  start: number;
  end: number;
}

/** Adds a range whose end is the last so far. Overlapping ranges are merged. */
function addRange(ranges: Range[], start: number, end: number): void {
  while (ranges.length > 0 && ranges.at(-1)!.start >= start) ranges.pop();
  const last = ranges.at(-1);
  if (last && start < last.end) last.end = end;
  else ranges.push({ start, end });
}

/** @param ranges the ranges to mask, sorted by start. */
function masked(text: string, ranges: readonly Range[]): string {
  let result = "";
  let done = 0;
  for (const { start, end } of ranges) {
    if (end <= done) continue;
    // The overlap with the previous range is masked already.
    if (start >= done) result += text.slice(done, start) + MASK;
    done = end;
  }
  return result + text.slice(done);
}
