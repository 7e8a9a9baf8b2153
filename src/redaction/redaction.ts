import { domainToASCII } from "node:url";

import { Problem } from "../errors.ts";
import { Automaton, START } from "./automaton.ts";
import { eachSymbol, MAX_SYMBOLS, symbolsOf } from "./symbols.ts";

/** A shorter secret occurs in many texts that have nothing to do with it. In symbols. */
const MIN_SYMBOLS = 4;
const MASK = "[secret]";
/**
 * Of all secrets together: the automaton for more takes longer to build than other callers may wait. Of more, every text
 * is masked whole.
 */
const MAX_SECRET_CHARS = 96 * 2 ** 10;
/** The guest cuts a text that is too long, or a line of it, and marks that so. */
const CUT = /…(?=\n|$)/g;
/** V8 and Node cut what they quote, and mark that so. */
const QUOTE_CUT = /\.\.\./g;
/** V8 quotes 10 characters before and 10 after the one that it does not understand. */
const V8_QUOTE = " is not valid JSON";
const V8_QUOTE_CHARS = 48;

/**
 * Takes secrets out of texts that are logged or answered, in every everyday spelling (`symbols.ts` lists them).
 *
 * The work is linear in the length of the text and of the secrets together, whatever they are: a task chooses both, and
 * the service has one thread.
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

  /** Redacts all texts of a value that is JSON, names too. */
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

  /** Redacts what a caller is answered and what is logged of it, the last words of a guest among that. */
  problem(problem: Problem): Problem {
    const { hint, violations, error: taskError, cause, ...rest } = problem.options;
    return new Problem(problem.code, this.text(problem.message), {
      ...rest,
      ...(hint !== undefined && { hint: this.text(hint) }),
      ...(violations && { violations: this.value(violations) }),
      ...(taskError && { error: this.value(taskError) }),
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
    const maskBegun = (least: number): void => {
      const begun = automaton.begun(state);
      if (begun >= least && begun > 0) addRange(ranges, starts[count - begun]!, lastEnd);
    };
    eachSymbol(text, (symbol, start, end) => {
      while (cut < cuts.length && cuts[cut]!.at <= start) maskBegun(cuts[cut++]!.least);
      starts[count++] = start;
      lastEnd = end;
      state = automaton.next(state, symbol);
      const found = automaton.found(state);
      if (found > 0) addRange(ranges, starts[count - found]!, end);
    });
    while (cut < cuts.length) maskBegun(cuts[cut++]!.least);
    // A text without a mark may have been cut too. Its end may also be a word that begins like a secret.
    maskBegun(MIN_SYMBOLS);
    const quoted = this.#quotedPieces(text);
    return quoted.length === 0 ? ranges : [...ranges, ...quoted].toSorted((a, b) => a.start - b.start);
  }

  /** Where each symbol of a text begins. One buffer serves all texts: an error may have tens of thousands. */
  #startsFor(text: string): Uint32Array {
    const symbols = text.length * MAX_SYMBOLS;
    if (this.#starts.length < symbols) this.#starts = new Uint32Array(symbols);
    return this.#starts;
  }

  /** V8 quotes what it cannot parse from its midst: pieces of a secret, of any place in it. */
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

  /** When it is first needed: most runs say nothing that has to be redacted. */
  #build(): Built {
    if (this.#built) return this.#built;
    const spellings = this.#secrets.flatMap((secret) => [secret, ...hostSpelling(secret)]);
    const patterns = spellings.map(symbolsOf).filter(({ length }) => length >= MIN_SYMBOLS);
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

/** How a secret beyond ASCII is written in the name of a host (RFC 3492). */
function hostSpelling(secret: string): string[] {
  if (secret.length > MAX_HOST_CHARS || /^[ -~]*$/.test(secret)) return [];
  const name = domainToASCII(secret);
  return name === "" ? [] : [name];
}

/** A name of DNS is not longer. */
const MAX_HOST_CHARS = 253;

/** As many symbols as a number of 32 bits holds. */
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

/** Where a text was cut, in order, and how many symbols of a secret must stand before that for them to be masked. */
function cutsOf(text: string): { at: number; least: number }[] {
  if (!text.includes("…") && !text.includes("...")) return [];
  const cuts = [...text.matchAll(CUT)].map(({ index }) => ({ at: index, least: 1 }));
  for (const { index } of text.matchAll(QUOTE_CUT)) cuts.push({ at: index, least: MIN_SYMBOLS });
  return cuts.toSorted((a, b) => a.at - b.at);
}

/** A part of a text that is to be masked. */
interface Range {
  start: number;
  end: number;
}

/** Adds a range that ends last. Ranges that overlap become one. */
function addRange(ranges: Range[], start: number, end: number): void {
  while (ranges.length > 0 && ranges.at(-1)!.start >= start) ranges.pop();
  const last = ranges.at(-1);
  if (last && start < last.end) last.end = end;
  else ranges.push({ start, end });
}

/** @param ranges in the order of their starts. */
function masked(text: string, ranges: readonly Range[]): string {
  let result = "";
  let done = 0;
  for (const { start, end } of ranges) {
    if (end <= done) continue;
    // What overlaps the range before is masked already.
    if (start >= done) result += text.slice(done, start) + MASK;
    done = end;
  }
  return result + text.slice(done);
}
