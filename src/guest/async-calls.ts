import type { BracketPairs } from "./bracket-pairs.ts";
import type { Token } from "./scan-tokens.ts";

/** A call that returns a promise, as its text shows. */
export interface AsyncCall {
  /** What is called: `load`, `db.find`, `fs.promises.readFile`. */
  readonly name: string;
  /** The index of its first token. */
  readonly start: number;
  /** The index of the token after its parenthesis. */
  readonly end: number;
}

const DECLARES = /^(?:const|let|var)$/;
/** Methods of a Response that return promises. */
const READS = /^(?:json|text|blob|arrayBuffer|formData|bytes)$/;
/** Functions of node:fs/promises. */
const OF_FILES =
  /^(?:readFile|writeFile|appendFile|readdir|stat|lstat|mkdir|mkdtemp|access|unlink|rm|rename|copyFile|realpath)$/;
/** A variable that has the functions of node:fs/promises. */
const FILES =
  /\bimport\s+(?:\*\s*as\s+)?([\w$]{1,64})\s+from\s*["'](?:node:)?fs\/promises["']|\b(?:const|let|var)\s+([\w$]{1,64})\s*=\s*(?:await\s+import|require)\s*\(\s*["'](?:node:)?(?:fs\/promises["']\s*\)|fs["']\s*\)\s*\.\s*promises\b)|\bimport\s*\{\s*promises\s+as\s+([\w$]{1,64})\s*\}\s*from\s*["'](?:node:)?fs["']/;
const FILE_NAMES =
  /\b(?:import|const|let|var)\s*\{([\w$\s,]{1,300})\}\s*(?:from|=\s*(?:await\s+import|require)\s*\()\s*["'](?:node:)?fs\/promises["']/;

/** Finds the calls of functions that are async in the same text, of `fetch`, and of functions of Node that return promises. */
export class AsyncCalls {
  readonly #tokens: readonly Token[];
  readonly #pairs: BracketPairs;
  /** The async functions. */
  readonly #functions = new Set<string>();
  /** By the brace of an object or a class: its async methods. */
  readonly #methods = new Map<number, Set<string>>();
  /** By variable or class: the brace of its object or its class. */
  readonly #owners = new Map<string, number>();
  /** The variables that hold a Response. */
  readonly #responses = new Set<string>();
  /** The variable with the functions of node:fs/promises. */
  readonly #files: string | null;
  /** By name: how often the text declares it, or gives it to a parameter. */
  readonly #declared = new Map<string, number>();

  constructor(text: string, tokens: readonly Token[], pairs: BracketPairs) {
    this.#tokens = tokens;
    this.#pairs = pairs;
    const files = FILES.exec(text);
    this.#files = files?.[1] ?? files?.[2] ?? files?.[3] ?? null;
    for (const name of (FILE_NAMES.exec(text)?.[1] ?? "").split(",")) {
      if (OF_FILES.test(name.trim())) this.#functions.add(name.trim());
    }
    for (let index = 0; index < tokens.length; index += 1) if (tokens[index]!.kind === "word") this.#learn(index);
    this.#functions.add("fetch");
  }

  /** Returns the call whose last name is at an index, or null. */
  at(index: number): AsyncCall | null {
    const { kind, text: name } = this.#tokens[index]!;
    if (kind !== "word" || this.#text(index + 1) !== "(" || this.#text(index - 1) === "function") return null;
    const end = this.#pairs.endOf(index + 1) + 1;
    // A method of this name is declared here, and not called.
    if (this.#text(end) === "{" || (this.#text(end) === ":" && /^(?:async|[{,;}])$/.test(this.#text(index - 1))))
      return null;
    if (!this.#isMember(index)) {
      const isOnly = (this.#declared.get(name) ?? 0) <= (name === "fetch" ? 0 : 1);
      return isOnly && this.#functions.has(name) ? { name, start: index, end } : null;
    }
    const owner = this.#text(index - 2);
    const start = index - 2;
    if (this.#text(index - 1) !== "." || this.#tokens[start]?.kind !== "word") return null;
    if (this.#isMember(start)) {
      const isOfFiles = owner === "promises" && OF_FILES.test(name) && !this.#isMember(start - 2);
      return isOfFiles ? { name: `${this.#text(start - 2)}.promises.${name}`, start: start - 2, end } : null;
    }
    return this.#returnsPromise(owner, name, index) ? { name: `${owner}.${name}`, start, end } : null;
  }

  /** Whether the text declares a name once only, and no parameter has it. */
  isDeclaredOnce(name: string): boolean {
    return this.#declared.get(name) === 1;
  }

  #returnsPromise(owner: string, name: string, index: number): boolean {
    if (owner === "this") {
      for (let at = this.#pairs.around(index); at !== -1; at = this.#pairs.around(at)) {
        if (this.#methods.has(at)) return this.#methods.get(at)!.has(name);
      }
      return false;
    }
    if (!this.isDeclaredOnce(owner)) return owner === this.#files && !this.#declared.has(owner) && OF_FILES.test(name);
    if (owner === this.#files) return OF_FILES.test(name);
    if (this.#responses.has(owner)) return READS.test(name);
    const brace = this.#owners.get(owner);
    return brace !== undefined && (this.#methods.get(brace)?.has(name) ?? false);
  }

  #learn(index: number): void {
    const word = this.#text(index);
    const before = this.#text(index - 1);
    if (word === "async") return this.#learnAsync(index);
    if (this.#isMember(index)) return;
    const isAssigned = this.#text(index + 1) === "=" && this.#text(index + 2) !== "=";
    const isName = DECLARES.test(before) || /^(?:function|class)$/.test(before);
    if (isName || isAssigned || this.#pairs.isParameter(index))
      this.#declared.set(word, (this.#declared.get(word) ?? 0) + 1);
    if (before === "class") {
      let brace = index + 1;
      while (brace < index + MAX_HEAD && this.#text(brace) !== "{") brace += 1;
      if (this.#text(brace) === "{") this.#owners.set(word, brace);
    }
    if (!DECLARES.test(before)) return;
    const value = this.#valueOf(index);
    if (value === -1) return;
    const first = this.#text(value);
    if (first === "{") this.#owners.set(word, value);
    else if (first === "new") {
      const brace = this.#owners.get(this.#text(value + 1));
      if (brace !== undefined) this.#owners.set(word, brace);
    } else if (first === "await" && this.#text(value + 1) === "fetch" && this.#text(value + 2) === "(") {
      if (this.#endsAt(value + 2)) this.#responses.add(word);
    } else if (first === "async" && this.#isFunction(value)) this.#functions.add(word);
  }

  /** Whether a statement ends after the parentheses that begin at an index. */
  #endsAt(opening: number): boolean {
    const next = this.#tokens[this.#pairs.endOf(opening) + 1];
    return next === undefined || next.text === ";" || (next.startsLine && !/^\??\.$/.test(next.text));
  }

  #learnAsync(index: number): void {
    const next = this.#text(index + 1);
    if (next === "function") {
      const name = this.#tokens[index + 2];
      if (name?.kind === "word") this.#functions.add(name.text);
      return;
    }
    const before = this.#text(index - 1);
    const brace = this.#pairs.around(index);
    const isField = /^[:=]$/.test(before) && this.#isFunction(index) && this.#text(index - 2) !== "=";
    const isMethod = this.#tokens[index + 1]?.kind === "word" && this.#text(index + 2) === "(";
    const name = isField ? this.#text(index - 2) : isMethod ? next : "";
    if (name === "" || this.#text(brace) !== "{" || DECLARES.test(this.#text(index - 3))) return;
    const methods = this.#methods.get(brace) ?? new Set<string>();
    this.#methods.set(brace, methods.add(name));
  }

  /** Whether `async` at an index begins a function that is no generator. */
  #isFunction(index: number): boolean {
    const next = this.#text(index + 1);
    if (next === "function") return this.#text(index + 2) !== "*";
    const end = next === "(" ? this.#pairs.endOf(index + 1) + 1 : index + 2;
    return this.#text(end) === "=>" || this.#text(end) === ":";
  }

  /** Returns the index at which the value of a declared variable begins, or -1. */
  #valueOf(name: number): number {
    let at = name + 1;
    if (this.#text(at) === ":") while (at < name + MAX_HEAD && this.#text(at) !== "=") at += 1;
    return this.#text(at) === "=" ? at + 1 : -1;
  }

  /** Whether the word at an index follows a dot that is no part of a spread. */
  #isMember(index: number): boolean {
    const before = this.#text(index - 1);
    return before === "?." || (before === "." && this.#text(index - 2) !== ".");
  }

  #text(index: number): string {
    return this.#tokens[index]?.text ?? "";
  }
}

/** The tokens of a type, or of the head of a class, that are passed over. */
const MAX_HEAD = 20;
