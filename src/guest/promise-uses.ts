import { type AsyncCall, AsyncCalls } from "./async-calls.ts";
import { BracketPairs } from "./bracket-pairs.ts";
import { type Token, tokensOf } from "./scan-tokens.ts";

/** A promise that a text uses like its value, without `await`. */
export interface PromiseUse {
  /** What makes the promise: `load`, `db.find`. */
  readonly call: string;
  /** The variable that holds the promise; null if none does. */
  readonly variable: string | null;
  /** The member that is read of the promise; null for another use. */
  readonly member: string | null;
  /** Whether the promise is a condition. */
  readonly isCondition: boolean;
}

type Kind = Pick<PromiseUse, "member" | "isCondition">;

/** A longer text is not looked at, because other runs of the guest wait meanwhile. */
const MAX_CHARACTERS = 32 * 1024;
/** The variables that are looked at. Each takes a search of all tokens. */
const MAX_VARIABLES = 20;
/** Words without which a text has no call that is looked for. */
const MAY_HAVE = /\basync\b|\bfetch\s*\(|\bfs\/promises\b|\.\s*promises\b/;
const DECLARES = /^(?:const|let|var)$/;
const OF_PROMISE = /^(?:then|catch|finally|constructor|toString|valueOf|hasOwnProperty)$/;
const OPERATOR = /^[-+*/%<]$/;
const LITERAL = /^(?:["'`\d]|(?:true|false|null|undefined)$)/;
/** What goes on with the expression of the line above. */
const CONTINUES = /^(?:[-+*/%<>=.,?:[(&|`]|\?\.|\?\?|&&|\|\||in|instanceof|as|satisfies)$/;
/** Functions of the language that need the value, and what stands in front of their parenthesis. */
const NEEDS_VALUE = /^(?:Number|String|Boolean|parseInt|parseFloat|isNaN)$/;
const NEEDS_VALUE_OF =
  /^(?:Object\.(?:keys|values|entries|fromEntries|assign)|JSON\.(?:stringify|parse)|Array\.(?:from|isArray)|Response\.json|Math\.\w+)$/;
const MADE_OF_VALUE = /^(?:Set|Map|Date|Response)$/;
const VALUE: Kind = { member: null, isCondition: false };
const CONDITION: Kind = { member: null, isCondition: true };

let last: { readonly text: string; readonly use: PromiseUse | null } | null = null;

/**
 * Returns the first promise that a text uses like its value, of a function that is async in the text, of `fetch` or of node:fs/promises;
 * otherwise null. If a variable holds the promise, the text uses it in no other way. Never throws.
 */
export function promiseUse(text: string): PromiseUse | null {
  if (last?.text !== text) last = { text, use: useIn(text) };
  return last.use;
}

function useIn(text: string): PromiseUse | null {
  try {
    const tokens = text.length > MAX_CHARACTERS || !MAY_HAVE.test(text) ? null : tokensOf(text);
    return tokens && new Reader(text, tokens).read();
  } catch {
    // A task has replaced a method of texts, lists or patterns.
    return null;
  }
}

class Reader {
  readonly #tokens: readonly Token[];
  readonly #pairs: BracketPairs;
  readonly #calls: AsyncCalls;

  constructor(text: string, tokens: readonly Token[]) {
    this.#tokens = tokens;
    this.#pairs = new BracketPairs(tokens);
    this.#calls = new AsyncCalls(text, tokens, this.#pairs);
  }

  read(): PromiseUse | null {
    let left = MAX_VARIABLES;
    for (let index = 0; index < this.#tokens.length; index += 1) {
      const call = this.#calls.at(index);
      if (!call) continue;
      const kind = this.#kindAt(call.start, call.end, false);
      if (kind) return { call: call.name, variable: null, ...kind };
      const held = left > 0 ? this.#heldBy(call) : -1;
      if (held === -1) continue;
      left -= 1;
      const use = this.#usesOf(held);
      if (use) return { call: call.name, variable: this.#text(held), ...use };
    }
    return null;
  }

  /** Returns the index of the variable that is declared with a call as its whole value, or -1. */
  #heldBy({ start, end }: AsyncCall): number {
    if (this.#text(start - 1) !== "=") return -1;
    const next = this.#tokens[end];
    const isWhole = next === undefined || /^[;,}]$/.test(next.text) || (next.startsLine && !CONTINUES.test(next.text));
    if (!isWhole) return -1;
    if (DECLARES.test(this.#text(start - 3))) return start - 2;
    for (let at = start - 2; at > start - MAX_TYPE; at -= 1)
      if (this.#text(at) === ":" && DECLARES.test(this.#text(at - 2))) return at - 1;
    return -1;
  }

  /** Returns how a text uses a variable; null if it uses it in another way than like a value, or in no way. */
  #usesOf(declaration: number): Kind | null {
    const name = this.#text(declaration);
    if (!this.#calls.isDeclaredOnce(name)) return null;
    let found: Kind | null = null;
    for (let index = 0; index < this.#tokens.length; index += 1) {
      if (index === declaration || this.#tokens[index]!.text !== name || this.#isOtherName(index)) continue;
      const kind = this.#kindAt(index, index + 1, true);
      if (!kind) return null;
      if (!found || (found.member === null && kind.member !== null)) found = kind;
    }
    return found;
  }

  /** Whether a name is that of a member, or an argument of console. */
  #isOtherName(index: number): boolean {
    const before = this.#text(index - 1);
    if (before === "?." || (before === "." && this.#text(index - 2) !== ".")) return true;
    const opening = this.#pairs.around(index);
    if (/^[{,]$/.test(before) && this.#text(index + 1) === ":" && this.#text(opening) === "{") return true;
    return this.#text(opening) === "(" && this.#text(opening - 3) === "console";
  }

  /** Returns how the text uses the tokens from `start` up to `end`, if it uses them like a value; otherwise null. */
  #kindAt(start: number, end: number, isVariable: boolean): Kind | null {
    const before = this.#text(start - 1);
    const next = this.#text(end);
    const following = this.#text(end + 1);
    if (/^(?:await|yield|void|typeof|delete|new)$/.test(before)) return null;
    if (/^\??\.$/.test(next)) return this.#memberAt(end + 1);
    if (next === "[" && !this.#tokens[end]!.startsLine) return VALUE;
    if (next === "=" || next === "!") {
      if (following !== "=" || this.#tokens[end]!.startsLine) return null;
      return isVariable && !this.#isLiteral(end, 1) ? null : VALUE;
    }
    if (before === "=") return this.#kindAfterEquals(start, isVariable);
    if (OPERATOR.test(next) || (next === ">" && following !== ">")) return VALUE;
    if (OPERATOR.test(before) || before === ">") return this.#isOperand(start) ? VALUE : null;
    if (before === "." && this.#text(start - 2) === ".") return VALUE;
    if (next === "?" || before === "!") return CONDITION;
    if (before.endsWith("${") && next.startsWith("}")) return VALUE;
    const opening = this.#pairs.around(start);
    if (this.#text(opening) !== "(") return null;
    const opener = this.#text(opening - 1);
    if (before === "of") return opener === "for" ? VALUE : null;
    if (!/^(?:[(,]|&&|\|\|)$/.test(before) || !/^(?:[),]|&&|\|\|)$/.test(next)) return null;
    if (/^(?:if|while)$/.test(opener)) return CONDITION;
    if (opener === "switch") return VALUE;
    return /^[(,]$/.test(before) && /^[),]$/.test(next) && this.#needsValue(opening, before) ? VALUE : null;
  }

  #memberAt(index: number): Kind | null {
    const member = this.#text(index);
    if (this.#tokens[index]?.kind !== "word") return member === "[" ? VALUE : null;
    const isSet = this.#text(index + 1) === "=" && this.#text(index + 2) !== "=";
    return OF_PROMISE.test(member) || isSet || member.length > MAX_NAME ? null : { member, isCondition: false };
  }

  /** Returns the use of what follows `=`, which may be the end of `===` or `+=`, or take a list or an object apart. */
  #kindAfterEquals(start: number, isVariable: boolean): Kind | null {
    const mark = this.#text(start - 2);
    if (/^[=!<>]$/.test(mark)) return isVariable && !this.#isLiteral(start - 1, -1) ? null : VALUE;
    if (/^[-+*/%]$/.test(mark)) return VALUE;
    if (mark !== "]" && mark !== "}") return null;
    const opening = this.#pairs.startOf(start - 2);
    if (!DECLARES.test(this.#text(opening - 1))) return null;
    const member = this.#text(opening + 1);
    return mark === "}" && this.#tokens[opening + 1]?.kind === "word" && !OF_PROMISE.test(member)
      ? { member, isCondition: false }
      : mark === "]"
        ? VALUE
        : null;
  }

  /** Whether the operator in front of an expression has two operands, and is no cast and no part of a generator. */
  #isOperand(start: number): boolean {
    const first = this.#tokens[start - 2];
    if (first === undefined || /^(?:yield|function|async)$/.test(first.text)) return false;
    return !(this.#text(start - 1) === ">" && this.#text(start - 3) === "<");
  }

  /** Whether the other side of a comparison is a text, a number, true, false, null or undefined. */
  #isLiteral(mark: number, step: 1 | -1): boolean {
    let at = mark;
    while (/^[=!<>]$/.test(this.#text(at))) at += step;
    return LITERAL.test(this.#text(at));
  }

  /** Whether the parenthesis is that of a function of the language that needs the value. */
  #needsValue(opening: number, before: string): boolean {
    const name = this.#text(opening - 1);
    if (this.#text(opening - 2) === "new") return MADE_OF_VALUE.test(name);
    if (this.#text(opening - 2) !== ".") return NEEDS_VALUE.test(name);
    // The first argument of assign may be a promise that is given members.
    if (name === "assign" && before !== ",") return false;
    return NEEDS_VALUE_OF.test(`${this.#text(opening - 3)}.${name}`);
  }

  #text(index: number): string {
    return this.#tokens[index]?.text ?? "";
  }
}

/** The tokens of a type that are passed over. */
const MAX_TYPE = 20;
/** A longer name is not one of a hint. */
const MAX_NAME = 64;
