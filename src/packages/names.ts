import { Problem } from "../errors.ts";
import { isSameRange, MAX_SPECIFIER_CHARS, packageOf, readNpmSpecifier } from "../package-names.ts";
import { runtimeEntries } from "../wire/transform.ts";
import { BlockComments } from "./block-comments.ts";
import type { PackageSet } from "./model.ts";

/** Ranges by the names of packages, as a request names them. */
export type Ranges = Readonly<Record<string, string>>;

/** The most packages that one text names: each of them is resolved, and most bring others. */
export const MAX_NAMED = 50;
/** The most entries of one set, each of which the builder resolves twice. */
const MAX_ENTRIES = 200;
/**
 * The most strings that begin with `npm:`, in an import or not. Each takes up to a microsecond, on the thread of the service and before a
 * run is counted.
 */
const MAX_PREFIXED = 5_000;
/** The most different packages with a range. Each spelling of a range takes up to a third of a millisecond. */
const MAX_RANGED = 80;
/** The most different specifiers. Each takes some microseconds. */
const MAX_SPECIFIERS = 1_000;

/** The characters of one step of a scan. Ranges take the most time, and eight of them fit. */
const STEP_CHARS = 1_024;

const PREFIX = "npm:";
const DOUBLE = 0x22;
const SINGLE = 0x27;
const BACKTICK = 0x60;
/** The characters before a specifier in which the word `import`, `from` or `require` is looked for. */
const SHOWN_CHARS = 256;
/** The end of the text before the specifier of an import; a comment may stand between. */
const BEFORE_SPECIFIER =
  /(?:^|[^\w$.])(?:from|import|(?:import|require(?:\.resolve)?)\s{0,20}\()\s{0,20}(?:\/\*[^*]{0,200}\*\/\s{0,20})?$/;
/** A line that is a comment, or stands in one. */
const COMMENT = /^\s*(?:\/\/|\*(?!\/))/;

/** Whether a text can name packages by itself. It costs one search in the text. */
export function mayName(source: Buffer | string): boolean {
  return source.includes(PREFIX);
}

/**
 * Finds the packages of `ranges` and the packages that texts name by specifiers such as `npm:zod@4`. The texts are scanned and not
 * parsed, because hostile text attacks parsers. A scan takes time linear in the length of the text.
 *
 * A specifier counts only in an import. A sub-path of a package of `ranges` counts in any string, because code may choose it while it
 * runs.
 *
 * @param defaultRange the range of a package that is named without one
 * @returns null if the texts name no package
 * @throws {Problem} `request_invalid` if one package has two ranges, `packages_too_large` if the texts name too many packages.
 */
export function packagesOf(
  texts: Iterable<string>,
  ranges: Ranges | null,
  defaultRange: (name: string) => string = () => "*",
): PackageSet | null {
  const steps = packagesInSteps(texts, ranges, defaultRange);
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
  }
}

/** As `packagesOf`, in steps of less than a few milliseconds: a megabyte of short strings takes forty. */
export function* packagesInSteps(
  texts: Iterable<string>,
  ranges: Ranges | null,
  defaultRange: (name: string) => string,
): Generator<void, PackageSet | null> {
  const found = new Names(ranges ?? {});
  const all = [...texts];
  for (const text of all) yield* scan(text, found);
  for (const text of all) {
    found.addRuntimes(text);
    yield;
  }
  const isRequired = all.some((text) => text.includes("require"));
  return found.set(defaultRange, isRequired);
}

/** Calls `found` for each string of a text that may be a specifier. */
function* scan(text: string, found: Names): Generator<void, void> {
  const comments = new BlockComments(text);
  let stepEnd = STEP_CHARS;
  for (let at = 0; at < text.length; at++) {
    if (at >= stepEnd) {
      yield;
      stepEnd = at + STEP_CHARS;
    }
    const quote = text.charCodeAt(at);
    if (quote !== DOUBLE && quote !== SINGLE && quote !== BACKTICK) continue;
    const end = endOfString(text, at + 1, quote);
    if (end > at + 1) found.string(text, at + 1, end, comments);
  }
}

/**
 * Returns the end of a string that has the characters of a specifier, or -1. Quotes of one kind that are close to each other are found
 * soon, and of the three kinds at most three can search in the same characters, so the scan stays linear.
 */
function endOfString(text: string, from: number, quote: number): number {
  const limit = Math.min(text.length, from + MAX_SPECIFIER_CHARS + 1);
  for (let at = from; at < limit; at++) {
    const code = text.charCodeAt(at);
    if (code === quote) return at;
    // No specifier has line breaks, escapes or characters outside ASCII.
    if (code < 0x20 || code > 0x7e || code === 0x5c) return -1;
  }
  return -1;
}

class Names {
  readonly #requested: Ranges;
  /** Null if the package is only named without a range. */
  readonly #ranges = new Map<string, string | null>();
  readonly #entries = new Set<string>();

  /** The specifiers that were read, without those that are in the texts again. */
  readonly #read = new Set<string>();

  /** The names with ranges that were read. */
  readonly #ranged = new Set<string>();

  #prefixed = 0;

  constructor(requested: Ranges) {
    this.#requested = requested;
    for (const [name, range] of Object.entries(requested)) this.#ranges.set(name, range === "*" ? null : range);
  }

  string(text: string, start: number, end: number, comments: BlockComments): void {
    if (text.startsWith(PREFIX, start)) {
      this.#prefixed += 1;
      if (this.#prefixed > MAX_PREFIXED) throw tooMany(`more than ${MAX_PREFIXED} texts that begin with ${PREFIX}`);
      if (isImport(text, start - 1) && !comments.has(start)) this.#npm(text.slice(start, end));
      return;
    }
    if (this.#ranges.size === 0) return;
    const name = packageOf(text.slice(start, end));
    if (name !== null && Object.hasOwn(this.#requested, name)) this.#enter(text.slice(start, end));
  }

  #npm(text: string): void {
    if (this.#read.has(text)) return;
    this.#read.add(text);
    if (this.#read.size > MAX_SPECIFIERS) throw tooMany(`more than ${MAX_SPECIFIERS} different imports`);
    const ranged = rangedName(text);
    if (ranged !== null) this.#ranged.add(ranged);
    if (this.#ranged.size > MAX_RANGED) throw tooMany(`more than ${MAX_RANGED} different ranges`);
    const specifier = readNpmSpecifier(text);
    if (!specifier) return;
    const { name, range, entry } = specifier;
    const known = this.#ranges.get(name) ?? null;
    if (known !== null && range !== null && !isSameRange(known, range)) throw twoRanges(name, known, range);
    this.#ranges.set(name, known ?? range);
    if (this.#ranges.size > MAX_NAMED) throw tooMany(`more than ${MAX_NAMED} packages`);
    this.#enter(entry);
  }

  #enter(entry: string): void {
    this.#entries.add(entry);
    if (this.#entries.size > MAX_ENTRIES) throw tooMany(`more than ${MAX_ENTRIES} modules of packages`);
  }

  /** Adds what a text imports without a specifier. */
  addRuntimes(text: string): void {
    for (const entry of runtimeEntries(text, [...this.#ranges.keys()])) this.#enter(entry);
  }

  /** @param isRequired whether the texts have the word `require`. A build for import alone has half the size. */
  set(defaultRange: (name: string) => string, isRequired: boolean): PackageSet | null {
    if (this.#ranges.size === 0) return null;
    const names = [...this.#ranges.keys()].toSorted();
    const used = new Set([...this.#entries].map((entry) => packageOf(entry)));
    // A package may have only sub-paths, so its root counts only if nothing else of it is named.
    for (const name of names) if (!used.has(name)) this.#entries.add(name);
    const entries = [...this.#entries].map(copied);
    return {
      ranges: Object.fromEntries(names.map((name) => [name, copied(this.#ranges.get(name) ?? defaultRange(name))])),
      entries: entries.flatMap((entry) => (isRequired ? [entry, `require:${entry}`] : [entry])).toSorted(),
    };
  }
}

/** Returns the name and the range of a specifier; null if it has no range. */
function rangedName(text: string): string | null {
  // The name of a scope begins with another `@`.
  const at = text.indexOf("@", PREFIX.length + 1);
  if (at === -1) return null;
  const path = text.indexOf("/", at);
  return path === -1 ? text : text.slice(0, path);
}

/** Copies a text of ASCII. V8 keeps the whole source for as long as a slice of it, and a lock may stay for as long as the service runs. */
function copied(text: string): string {
  return Buffer.from(text, "latin1").toString("latin1");
}

/** Whether the string whose quote is at this position is the specifier of an import. */
function isImport(text: string, quote: number): boolean {
  const before = text.slice(Math.max(0, quote - SHOWN_CHARS), quote);
  return BEFORE_SPECIFIER.test(before) && !COMMENT.test(before.slice(before.lastIndexOf("\n") + 1));
}

function twoRanges(name: string, range: string, other: string): Problem {
  return new Problem("request_invalid", `the package ${name} has two ranges: ${range} and ${other}`, {
    hint: "Name each package with one range. Imports without a range take the range of the others.",
  });
}

function tooMany(what: string): Problem {
  return new Problem("packages_too_large", `the code names ${what}`, { hint: "Split the code into several tasks." });
}
