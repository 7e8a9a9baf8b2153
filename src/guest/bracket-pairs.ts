import type { Token } from "./scan-tokens.ts";

/** The brackets of the tokens of a whole text. All numbers are indexes of tokens. */
export class BracketPairs {
  readonly #tokens: readonly Token[];
  /** By the opening bracket: the closing one. */
  readonly #ends: number[] = [];
  /** By the closing bracket: the opening one. */
  readonly #starts: number[] = [];
  /** By token: the innermost bracket that is open before it; -1 outside of all. */
  readonly #around: number[] = [];

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens;
    const open: number[] = [];
    for (let index = 0; index < tokens.length; index += 1) {
      const { text, kind } = tokens[index]!;
      const isPart = kind === "value" && text[0] === "}";
      const opened = /^[)\]}]$/.test(text) || isPart ? open.pop() : undefined;
      if (opened !== undefined) {
        this.#ends[opened] = index;
        this.#starts[index] = opened;
      }
      this.#around[index] = open.length === 0 ? -1 : open[open.length - 1]!;
      if (/^[([{]$/.test(text) || (kind === "value" && text.endsWith("${"))) open.push(index);
    }
  }

  /** Returns the closing bracket of an opening one. */
  endOf(opening: number): number {
    return this.#ends[opening] ?? this.#tokens.length;
  }

  /** Returns the innermost bracket that is open before a token, or -1. */
  around(index: number): number {
    return this.#around[index] ?? -1;
  }

  /** Returns the opening bracket of a closing one, or -1. */
  startOf(closing: number): number {
    return this.#starts[closing] ?? -1;
  }

  /** Whether the word at an index is a parameter of a function, also in a pattern, or a name that a pattern declares. */
  isParameter(index: number): boolean {
    if (this.#text(index + 1) === "=>") return true;
    let at = index;
    for (let level = 0; level < MAX_LEVELS; level += 1) {
      if (level === 0 && !/^(?:[([{,:]|\.)$/.test(this.#text(at - 1))) return false;
      const opening = this.around(at);
      if (opening === -1) return false;
      const next = this.endOf(opening) + 1;
      if (this.#text(opening) === "(") {
        if (/^(?:if|while|switch|for|with)$/.test(this.#text(opening - 1))) return false;
        return /^(?:=>|\{|:)$/.test(this.#text(next)) && !this.#isBranch(opening);
      }
      if (this.#text(next) === "=" && this.#text(next + 1) !== "=") return true;
      at = opening;
    }
    return false;
  }

  /** Whether a parenthesis stands in a condition, as in `a ? f(b) : c`. */
  #isBranch(opening: number): boolean {
    if (this.#text(this.endOf(opening) + 1) !== ":") return false;
    for (let at = opening - 1; at > opening - MAX_CONDITION; at -= 1) {
      if (this.#text(at) === "?") return true;
      if (/^[;,{]?$/.test(this.#text(at))) return false;
    }
    return false;
  }

  #text(index: number): string {
    return this.#tokens[index]?.text ?? "";
  }
}

/** The tokens in front of a parenthesis among which a question mark is looked for. */
const MAX_CONDITION = 40;
/** How many brackets around a name are looked at. */
const MAX_LEVELS = 4;
