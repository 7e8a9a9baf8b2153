import { uncurry } from "../wire/uncurry.ts";
import { CodeFault } from "./faults.ts";

const { parse } = JSON;
const { defineProperty, keys } = Object;
const { isArray } = Array;
const NativeError = SyntaxError;
const charCodeAt = uncurry(String.prototype as string, "charCodeAt");
const slice = uncurry(String.prototype as string, "slice");

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const LIST = 0x5b;
const LIST_END = 0x5d;
const OBJECT = 0x7b;
const OBJECT_END = 0x7d;

/** Half of the characters that a step parses at most, and the longest text that is not parsed in pieces. V8 takes some milliseconds. */
export const PIECE_CHARS: number = 16 * 2 ** 10;
/** The most levels of a text that is parsed in pieces. Lists and objects that a cut leaves open take more memory than those of V8. */
const MAX_LEVELS = 500;
/**
 * The most members of an object that is a whole body. V8 keeps many different names in a table, and `context.data` is a second table. It
 * is made in one step, for which all other runs in the guest wait: a fifth of a second for 100,000 members.
 */
const MAX_MEMBERS = 10_000;

/** What a list or an object that is open has last. */
const NOTHING = 0;
const A_VALUE = 1;
const A_COMMA = 2;

/**
 * Does what `JSON.parse` does, in steps of some milliseconds. V8 takes more than a second for some texts of four megabytes, and all other
 * runs in the guest would wait.
 *
 * A step cuts the text at a comma, if possible between the values of a list that is open. V8 parses what is complete in a piece, and
 * lists and objects that continue after it are put together here. The piece of a long text without commas, such as one value, has no
 * bound.
 */
export class JsonPieces {
  readonly #text: string;
  readonly #pieceChars: number;
  #at = 0;
  /** The lists and objects that are open, outermost first. */
  readonly #open: object[] = [];
  #levels = 0;
  #last: number = NOTHING;
  #isComplete = false;
  #members = 0;
  #value: unknown;
  #error: unknown = null;
  /** The places of the brackets that are open in this piece, and of the last text before each. */
  readonly #brackets: number[] = [];
  readonly #names: number[] = [];

  /** @param pieceChars what a test cuts the text into */
  constructor(text: string, pieceChars: number = PIECE_CHARS) {
    this.#text = text;
    this.#pieceChars = pieceChars;
  }

  /** Parses the next piece. Never throws. @returns whether there is another piece */
  step(): boolean {
    try {
      return this.#step();
    } catch (error) {
      this.#error = error;
      return false;
    }
  }

  /** Returns the value, after the last step. @throws {SyntaxError | CodeFault} if the text is not JSON, or has too much */
  result(): unknown {
    if (this.#error !== null) throw this.#error;
    return this.#value;
  }

  #step(): boolean {
    const text = this.#text;
    const { length } = text;
    if (this.#at === 0) {
      const root = this.#skipSpace(0, length);
      const char = root < length ? charCodeAt(text, root) : 0;
      if (char !== LIST && char !== OBJECT) {
        this.#value = parse(text);
        return false;
      }
      this.#begin(root, -1, root);
      this.#at = root + 1;
    }
    const start = this.#at;
    let from = start;
    let name = -1;
    let depth = 0;
    let at = start;
    for (let isCut = false; at < length && !isCut; at += 1) {
      const char = charCodeAt(text, at);
      if (char === QUOTE) {
        name = at;
        at = this.#endOfText(at);
      } else if (char === LIST || char === OBJECT) {
        if (this.#levels + depth >= MAX_LEVELS) throw tooDeep();
        this.#brackets[depth] = at;
        this.#names[depth] = name;
        depth += 1;
      } else if (char === LIST_END || char === OBJECT_END) {
        if (depth > 0) depth -= 1;
        else {
          this.#add(from, at);
          this.#end(char);
          from = at + 1;
        }
      } else if (char === COMMA) isCut = at - start >= (depth === 0 ? 1 : 2) * this.#pieceChars;
    }
    for (let level = 0; level < depth; level += 1) {
      this.#begin(from, this.#names[level]!, this.#brackets[level]!);
      from = this.#brackets[level]! + 1;
    }
    this.#add(from, at);
    this.#at = at;
    if (at < length) return true;
    if (!this.#isComplete) throw new NativeError("the JSON has no end");
    return false;
  }

  /** Returns where the text ends that begins here. */
  #endOfText(start: number): number {
    const { length } = this.#text;
    for (let at = start + 1; at < length; at += 1) {
      const char = charCodeAt(this.#text, at);
      if (char === QUOTE) return at;
      if (char === BACKSLASH) at += 1;
    }
    throw new NativeError("a text in the JSON has no end");
  }

  /** Adds the complete values or members of a part of the text to the innermost list or object. */
  #add(start: number, end: number): void {
    let from = this.#skipSpace(start, end);
    let to = end;
    while (to > from && this.#isSpace(to - 1)) to -= 1;
    if (from === to) return;
    // No value but a list or an object is parsed in pieces.
    if (this.#levels === 0) throw new NativeError("the JSON has more than one value");
    if (this.#last === A_VALUE) {
      if (charCodeAt(this.#text, from) !== COMMA) throw new NativeError("the JSON lacks a comma");
      this.#last = A_COMMA;
      from = this.#skipSpace(from + 1, to);
      if (from === to) return;
    }
    const endsWithComma = charCodeAt(this.#text, to - 1) === COMMA;
    if (endsWithComma) to -= 1;
    if (this.#skipSpace(from, to) === to) throw new NativeError("the JSON has a comma too many");
    const part = slice(this.#text, from, to);
    const target = this.#open[this.#levels - 1]!;
    if (isArray(target)) {
      const values = parse(`[${part}]`) as unknown[];
      for (let at = 0; at < values.length; at += 1) target[target.length] = values[at];
    } else {
      const members = parse(`{${part}}`) as Record<string, unknown>;
      const names = keys(members);
      for (let at = 0; at < names.length; at += 1) this.#define(target, names[at]!, members[names[at]!]);
    }
    this.#last = endsWithComma ? A_COMMA : A_VALUE;
  }

  /** Begins a list or an object that continues after the piece. @param name where its name in an object begins */
  #begin(from: number, name: number, bracket: number): void {
    const made: object = charCodeAt(this.#text, bracket) === LIST ? [] : {};
    if (this.#isComplete) throw new NativeError("the JSON has more than one value");
    if (this.#levels === 0) this.#value = made;
    else {
      const parent = this.#open[this.#levels - 1]!;
      const isMember = !isArray(parent);
      if (isMember && name < from) throw new NativeError("a member of the JSON has no name");
      this.#add(from, isMember ? name : bracket);
      if (this.#last === A_VALUE) throw new NativeError("the JSON lacks a comma");
      // V8 also checks what is between the name and the bracket.
      if (isMember) this.#define(parent, keys(parse(`{${slice(this.#text, name, bracket)}[]}`) as object)[0]!, made);
      else parent[parent.length] = made;
    }
    this.#open[this.#levels] = made;
    this.#levels += 1;
    this.#last = NOTHING;
  }

  #end(bracket: number): void {
    if (this.#levels === 0 || this.#last === A_COMMA) throw new NativeError("the JSON has a bracket too many");
    this.#levels -= 1;
    if (isArray(this.#open[this.#levels]) !== (bracket === LIST_END))
      throw new NativeError("the JSON has a wrong bracket");
    this.#last = A_VALUE;
    this.#isComplete = this.#levels === 0;
  }

  /** Defines a member as `JSON.parse` does: also `__proto__` is an ordinary name. */
  #define(target: object, name: string, value: unknown): void {
    if (this.#levels === 1) this.#members += 1;
    if (this.#members > MAX_MEMBERS) throw tooManyMembers();
    // A task may have added members to all objects, which must not be read as those of the description.
    const member = { __proto__: null, value, writable: true, enumerable: true, configurable: true };
    defineProperty(target, name, member as PropertyDescriptor);
  }

  #skipSpace(start: number, end: number): number {
    let at = start;
    while (at < end && this.#isSpace(at)) at += 1;
    return at;
  }

  #isSpace(at: number): boolean {
    const char = charCodeAt(this.#text, at);
    return char === 0x20 || char === 0x0a || char === 0x0d || char === 0x09;
  }
}

function tooDeep(): CodeFault {
  return new CodeFault("request_invalid", `the JSON has more than ${MAX_LEVELS} levels`, {
    hint: "Send a flatter value, or send the text with the Content-Type text/plain.",
  });
}

function tooManyMembers(): CodeFault {
  return new CodeFault("request_invalid", `the JSON object has more than ${MAX_MEMBERS} members`, {
    hint: 'Send the object as a member of another one, such as {"values": {...}}: only the outermost one has a limit.',
  });
}
