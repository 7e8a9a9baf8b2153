import { distance } from "../wire/distance.ts";
import { GLOBALS, namesIn } from "./name-hints.ts";
import { nearName } from "./near-name.ts";
import { type Token, tokensOf } from "./scan-tokens.ts";

const { getOwnPropertyNames } = Object;
/** A longer text is not looked at, because other runs of the guest wait meanwhile. */
const MAX_CHARACTERS = 32 * 1024;
/** The reads that are looked at, and the names that each is compared with. */
const MAX_READS = 200;
const MAX_NAMES = 200;
const MIN_CHARACTERS = 4;
let known: ReadonlySet<string> | null = null;

/** Whether the values of the language have a member of this name, so that the code need not declare it. */
function isKnown(name: string): boolean {
  known ??= new Set(
    [Array, String, Promise, Map, Set, Number, Date, RegExp, Object, Math, JSON, Error, URL].flatMap((owner) => [
      ...getOwnPropertyNames(owner),
      ...("prototype" in owner ? getOwnPropertyNames(owner.prototype) : []),
    ]),
  );
  return known.has(name);
}

/** A member that a text reads once, and the name in the text of which it probably is a misspelling. */
export interface Misspelt {
  readonly name: string;
  readonly meant: string;
}

/**
 * Returns the first member that a text reads once, that nothing in it sets, and whose name is a misspelling of a member that the text has;
 * otherwise null. Never throws.
 */
export function misspeltRead(text: string): Misspelt | null {
  try {
    const tokens = text.length > MAX_CHARACTERS ? null : tokensOf(text);
    return tokens && firstMisspelt(tokens);
  } catch {
    // A task has replaced a method of texts, lists or patterns.
    return null;
  }
}

function firstMisspelt(tokens: readonly Token[]): Misspelt | null {
  const counts = new Map<string, number>();
  const members: string[] = ["length"];
  for (let index = 0; index < tokens.length; index += 1) {
    const { kind, text } = tokens[index]!;
    if (kind === "word") {
      counts.set(text, (counts.get(text) ?? 0) + 1);
      if (isMember(tokens, index) && members.length < MAX_NAMES && !members.includes(text)) members.push(text);
    } else if (/^["'`]/.test(text)) {
      // The names in a text of JSON.
      for (const [, name] of text.matchAll(/"([A-Za-z_$][\w$]{0,63})\\?"\s*:/g))
        if (members.length < MAX_NAMES) members.push(name!);
    }
  }
  let left = MAX_READS;
  for (let index = 1; index < tokens.length && left > 0; index += 1) {
    const { text } = tokens[index]!;
    if (!isRead(tokens, index) || counts.get(text) !== 1 || text.length < MIN_CHARACTERS || isKnown(text)) continue;
    left -= 1;
    const meant = members.find((each) => isMisspelt(text, each));
    if (meant !== undefined) return { name: text, meant };
  }
  return null;
}

/** Whether a member is read: it follows a dot, and is neither called nor set. */
function isRead(tokens: readonly Token[], index: number): boolean {
  if (tokens[index]!.kind !== "word" || !/^\??\.$/.test(tokens[index - 1]!.text)) return false;
  if (tokens[index - 2]?.text === ".") return false;
  const next = tokens[index + 1]?.text ?? "";
  return next !== "(" && next !== "`" && !(next === "=" && !/^[=>]$/.test(tokens[index + 2]?.text ?? ""));
}

/** Whether a word is a member of an object or a pattern, or is read as one. */
function isMember(tokens: readonly Token[], index: number): boolean {
  const before = tokens[index - 1]?.text ?? "";
  const next = tokens[index + 1]?.text ?? "";
  if (/^\??\.$/.test(before)) return next !== "(";
  return /^[{,]$/.test(before) && /^[:,}]$/.test(next);
}

/** Returns the step to the member of a value that a name probably is a misspelling of, or an empty text. Never throws. */
export function nearMember(name: string, text: string): string {
  try {
    if (/^(?:size|count|len)$/.test(name)) return ".length";
    if (name === "length" && /\bnew (?:Set|Map)\b/.test(text)) return ".size";
    if (name.length < 4) return "";
    if (name !== "length" && !isPlural(name, "length") && nearName(name, ["length"]) !== null) return ".length";
    const written = namesIn(text);
    for (let index = 0; index < written.length; index += 1) {
      if (isMisspelt(name, written[index]!)) return `.${written[index]!}`;
    }
    return "";
  } catch {
    // A task has replaced a method of texts or patterns.
    return "";
  }
}

/** Whether a name has the letters of another one in another order, or a long name all but one letter. */
function isMisspelt(name: string, other: string): boolean {
  if (other === name || isPlural(name, other) || GLOBALS.includes(other)) return false;
  if (name.length === other.length && lettersOf(name) === lettersOf(other)) return true;
  return name.length >= 6 && Math.abs(name.length - other.length) < 2 && distance(name, other) < 2;
}

function isPlural(name: string, other: string): boolean {
  return `${other}s` === name || `${name}s` === other;
}

function lettersOf(name: string): string {
  return name.toLowerCase().split("").toSorted().join("");
}
