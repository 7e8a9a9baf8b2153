import type { AbsentSource } from "../wire/absent-text.ts";
import { CONTEXT_NAMES } from "./context-hints.ts";
import { type Pattern, patternAt } from "./patterns.ts";
import { type Token, tokensOf } from "./scan-tokens.ts";
import { withoutAssertions } from "./without-assertions.ts";

/** A read of a member of the environment or of a part of the context, such as `process.env.API_KEY`. */
export interface MemberRead {
  readonly source: AbsentSource;
  readonly name: string;
  /** The variable that holds the value; null if none does. */
  readonly variable: string | null;
  /** Whether the code tests the value, or has another one if it is absent. */
  readonly isTested: boolean;
}

/** The parts of a context whose members a run may lack. */
const PARTS = /^(?:secrets|params|query|data|body|headers)$/;
const DECLARES = /^(?:const|let|var)$/;
const NAME = /^[A-Za-z_$][\w$]{0,63}$/;
/** Only headers have hyphens in their names. */
const HEADER = /^[A-Za-z_$][\w$-]{0,63}$/;
const PLAIN_TEXT = /^["'][A-Za-z_$][\w$-]{0,63}["']$/;

/** Returns the reads of a text, in its order. It is a reading without a grammar, so it may miss some. */
export function memberReads(text: string): readonly MemberRead[] {
  if (last?.text === text) return last.reads;
  const tokens = tokensOf(withoutAssertions(text));
  const reads = tokens === null ? [] : new Reader(tokens).read();
  last = { text, reads };
  return reads;
}

/** The last text. The code of a busy container often has the same empty result again and again. */
let last: { readonly text: string; readonly reads: readonly MemberRead[] } | null = null;

/** What an expression begins with: the context, or a part of it or the environment. */
interface Base {
  readonly source: AbsentSource;
  /** The index of the token after it. */
  readonly end: number;
}

class Reader {
  readonly #tokens: readonly Token[];
  readonly #contexts = ["context", "ctx"];
  /** The names of the Request of a fetch handler, and of the request of a Node handler. */
  readonly #requests: string[] = [];
  readonly #nodeRequests: string[] = [];
  /** The variables that hold a part of the context or the environment. */
  readonly #sources: { readonly variable: string; readonly source: AbsentSource }[] = [];
  readonly #reads: MemberRead[] = [];
  readonly #written: { readonly source: AbsentSource; readonly name: string }[] = [];

  /** The index of the first parameter of the code; -1 if it has no name. */
  #parameter = -1;

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens;
  }

  read(): readonly MemberRead[] {
    this.#takeParameters();
    for (let index = 0; index < this.#tokens.length; index += 1) {
      const base = this.#tokens[index]!.kind === "word" ? this.#baseAt(index) : null;
      if (base) this.#take(index, base);
    }
    return this.#reads
      .filter(({ source, name }) => !this.#written.some((each) => each.source === source && each.name === name))
      .map((read) => (this.#isTestedLater(read) ? { ...read, isTested: true } : read));
  }

  #text(index: number): string {
    return this.#tokens[index]?.text ?? "";
  }

  /** Finds the names of the context in the parameters of the function that is the code, or of its fetch handler. */
  #takeParameters(): void {
    const list = this.#parameterList();
    if (list !== -1) {
      if (this.#text(list) === "{") this.#takePattern("context", patternAt(this.#tokens, list));
      else if (this.#tokens[list]?.kind === "word") {
        this.#parameter = list;
        this.#contexts.push(this.#text(list));
        if (this.#text(list + 1) === "," && this.#text(list + 3) === ",") this.#nodeRequests.push(this.#text(list + 2));
      }
    }
    for (let index = 1; index < this.#tokens.length - 3; index += 1) {
      const isMethod = this.#text(index) === "fetch" && /^(?:[{,]|async)$/.test(this.#text(index - 1));
      const first = isMethod ? this.#firstOf(index + 1) : -1;
      if (first === -1 || this.#tokens[first]?.kind !== "word") continue;
      this.#requests.push(this.#text(first));
      if (this.#text(first + 1) !== ",") continue;
      const env = first + 2;
      if (this.#text(env) === "{") this.#takePattern("binding", patternAt(this.#tokens, env));
      else this.#sources.push({ variable: this.#text(env), source: "binding" });
    }
  }

  /** Returns the index of the first parameter of a method whose name ends in front of an index, or -1. */
  #firstOf(index: number): number {
    let at = index;
    if (this.#text(at) === ":") at += this.#text(at + 1) === "async" ? 2 : 1;
    if (at !== index && this.#text(at) === "function") at += 1;
    if (this.#text(at) === "(") return at + 1;
    return at !== index && this.#text(at + 1) === "=>" ? at : -1;
  }

  /** Returns the index of the first parameter, or -1. */
  #parameterList(): number {
    let index = 0;
    let isExported = true;
    if (this.#text(0) === "export" && this.#text(1) === "default") index = 2;
    else {
      const exported = this.#tokens.findIndex(
        ({ text, depth }, at) =>
          depth === 0 &&
          ((text === "exports" && this.#text(at + 1) === "=") ||
            (text === "export" && this.#text(at + 1) === "default")),
      );
      if (exported === -1) isExported = false;
      else index = exported + 2;
    }
    if (this.#text(index) === "async") index += 1;
    const isFunction = this.#text(index) === "function";
    if (isFunction) {
      index += 1;
      if (this.#text(index) === "*") index += 1;
      if (this.#text(index) !== "(") index += 1;
    }
    if (isFunction && !isExported && !this.#isWhole()) return -1;
    if (this.#text(index) === "(") return isFunction || this.#isArrow(index) ? index + 1 : -1;
    return this.#text(index + 1) === "=>" ? index : -1;
  }

  /** Whether the function that begins the text is the whole text, and no other statement follows it. */
  #isWhole(): boolean {
    const end = this.#tokens.findIndex(({ depth, text }) => depth === 0 && text === "}");
    const after = this.#tokens[end + 1];
    return end !== -1 && (after === undefined || (after.text === ";" && this.#tokens.length === end + 2));
  }

  /** Whether the parenthesis at an index encloses the parameters of an arrow function. */
  #isArrow(index: number): boolean {
    const { depth } = this.#tokens[index]!;
    const end = this.#tokens.findIndex((token, at) => at > index && token.depth === depth && token.text === ")");
    return end !== -1 && this.#text(end + 1) === "=>";
  }

  #baseAt(index: number): Base | null {
    const isMember = /^\??\.$/.test(this.#text(index - 1)) && this.#text(index - 2) !== ".";
    if (isMember) return null;
    const word = this.#text(index);
    const isDotted = /^\??\.$/.test(this.#text(index + 1));
    if (word === "process") {
      return isDotted && this.#text(index + 2) === "env" ? { source: "env", end: index + 3 } : null;
    }
    if (this.#contexts.includes(word)) {
      const part = isDotted ? this.#text(index + 2) : "";
      if (PARTS.test(part)) return { source: part as AbsentSource, end: index + 3 };
      const isOwn = isDotted && (CONTEXT_NAMES.test(part) || this.#isDeclared(word, index));
      return isOwn ? null : { source: "context", end: index + 1 };
    }
    const member = isDotted ? this.#text(index + 2) : "";
    if (member === "body" && this.#requests.includes(word)) return { source: "stream", end: index + 3 };
    if (member === "headers" && this.#nodeRequests.includes(word)) return { source: "headers", end: index + 3 };
    const held = this.#sources.find(({ variable }) => variable === word);
    return held ? { source: held.source, end: index + 1 } : null;
  }

  /** Whether the text declares a name, except as the first parameter of the code, so that it may be another value than the context. */
  #isDeclared(word: string, used: number): boolean {
    return this.#tokens.some(({ text }, index) => {
      if (text !== word || index === this.#parameter || index === used) return false;
      const before = this.#text(index - 1);
      if (/^(?:const|let|var|function|class)$/.test(before)) return true;
      const after = this.#text(index + 1);
      if (after === "=>" || (after === "=" && this.#text(index + 2) !== "=")) return true;
      return /^[(,{]$/.test(before) && /^[,)}:]$/.test(after);
    });
  }

  #take(index: number, { source, end }: Base): void {
    const isAssigned = this.#text(index - 1) === "=" && this.#text(index - 2) !== "=";
    if (isAssigned && this.#text(index - 2) === "}" && !this.#continues(end)) {
      const opening = this.#openingOf(index - 2);
      if (opening !== -1) this.#takePattern(source, patternAt(this.#tokens, opening));
      return;
    }
    if (source === "context" && this.#text(end) !== ".") return;
    if (/^\??\.$/.test(this.#text(end)) && this.#tokens[end + 1]?.kind === "word") {
      if (this.#text(end + 2) !== "(") this.#takeRead(index, end + 2, source, this.#text(end + 1));
    } else if (this.#text(end) === "[" && PLAIN_TEXT.test(this.#text(end + 1)) && this.#text(end + 2) === "]") {
      this.#takeRead(index, end + 3, source, this.#text(end + 1).slice(1, -1));
    } else if (isAssigned && DECLARES.test(this.#text(index - 3)) && !this.#continues(end)) {
      this.#sources.push({ variable: this.#text(index - 2), source });
    }
  }

  /** @param end the index of the token after the read */
  #takeRead(index: number, end: number, source: AbsentSource, name: string): void {
    if (!(source === "headers" ? HEADER : NAME).test(name)) return;
    if (this.#text(end) === "=" && this.#text(end + 1) !== "=") {
      this.#written.push({ source, name });
      return;
    }
    const isHeld =
      this.#text(index - 1) === "=" && DECLARES.test(this.#text(index - 3)) && !/^\??[.[(]$/.test(this.#text(end));
    this.#reads.push({
      source,
      name,
      variable: isHeld ? this.#text(index - 2) : null,
      isTested: this.#isTested(index, end),
    });
  }

  #takePattern(source: AbsentSource, names: readonly Pattern[]): void {
    for (const { path, variable, hasDefault } of names) {
      if (source === "context") {
        const [part = "", name = ""] = path;
        if (!PARTS.test(part)) {
          if (!CONTEXT_NAMES.test(part) && path.length === 1)
            this.#reads.push(readOf("context", part, variable, hasDefault));
          continue;
        }
        if (path.length === 1) this.#sources.push({ variable, source: part as AbsentSource });
        else this.#reads.push(readOf(part as AbsentSource, name, path.length === 2 ? variable : null, hasDefault));
      } else {
        this.#reads.push(readOf(source, path[0]!, path.length === 1 ? variable : null, hasDefault));
      }
    }
  }

  /** Returns the index of the brace that a closing brace closes, or -1. */
  #openingOf(closing: number): number {
    const { depth } = this.#tokens[closing]!;
    for (let index = closing - 1; index >= 0; index -= 1) {
      const token = this.#tokens[index]!;
      if (token.depth === depth && token.text === "{") return index;
    }
    return -1;
  }

  /** Whether an expression goes on at an index. */
  #continues(index: number): boolean {
    return /^(?:\??\.|[[(]|\|\||&&|\?\??)$/.test(this.#text(index));
  }

  /** Whether the code tests the value of the tokens from `index` up to `end`. */
  #isTested(index: number, end: number): boolean {
    const after = this.#text(end);
    if (/^(?:\?\.|\?\??|\|\||&&|!|=)$/.test(after) || /^(?:in|instanceof)$/.test(after)) return true;
    const before = this.#text(index - 1);
    if (/^(?:!|typeof|delete|in)$/.test(before)) return true;
    if (before === "=" && this.#text(index - 2) === "=") return true;
    return before === "(" && after === ")" && /^(?:if|while|Boolean)$/.test(this.#text(index - 2));
  }

  /** Whether the code tests the variable that holds the value. */
  #isTestedLater({ variable, isTested }: MemberRead): boolean {
    if (isTested || variable === null) return isTested;
    return this.#tokens.some(
      ({ text, kind }, index) =>
        kind === "word" &&
        text === variable &&
        !/^\??\.$/.test(this.#text(index - 1)) &&
        !DECLARES.test(this.#text(index - 1)) &&
        this.#isTested(index, index + 1),
    );
  }
}

function readOf(source: AbsentSource, name: string, variable: string | null, isTested: boolean): MemberRead {
  return { source, name, variable, isTested };
}
