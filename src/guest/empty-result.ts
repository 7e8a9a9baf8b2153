import { types } from "node:util";

import { absentCredential, absentInResponse, absentMember, absentResult } from "./absent-hints.ts";
import { callbackCall } from "./callback-call.ts";
import { contextAsValue, contextMember, isOfContext } from "./context-hints.ts";
import { contextOf } from "./context.ts";
import type { Emptied } from "./emptied.ts";
import type { EmptyHints } from "./empty-hints.ts";
import { mainCall } from "./main-call.ts";
import { nearMember } from "./misspelt.ts";
import type { ParsedCode } from "./parsed-code.ts";
import { printedThen } from "./printed-then.ts";
import { hintOfUse } from "./promise-use-hints.ts";
import { quotedTemplate } from "./quoted-template.ts";
import type { Run } from "./run.ts";
import type { Shape } from "./shapes/shape.ts";
import type { SilentCall } from "./silent-call.ts";
import { textBodyResult } from "./text-body.ts";
import { moduleEnd } from "./unreturned.ts";

const { isNaN } = Number;
const { getOwnPropertyDescriptor, keys } = Object;
const { isArray } = Array;
const { isProxy } = types;

const LATE: Emptied = { hint: "lateCallback", path: "" };
const STDIN: Emptied = { hint: "stdin", path: "" };

/** A run whose result is empty, and what is known of its code. */
export interface EmptyResult {
  readonly run: Run;
  readonly text: string;
  readonly parsed: ParsedCode | null;
  readonly shape: Shape | null;
  /** Reads the text at its first call. */
  readonly hints: () => EmptyHints;
}

/** Returns a hint that is more exact than the hint of a result, because of the text of the code; null for none. Never throws. @param value the result; its text for `quotedTemplate` */
export function betterHint(result: EmptyResult, hint: Emptied, value: unknown): Emptied | null {
  const { run, text } = result;
  if (hint.hint === "absent") return absentCredential(text, run);
  if (hint.hint === "responseText") return absentInResponse(text, run, hint.path === ".text");
  if (hint.hint === "quotedTemplate") {
    const names = quotedTemplate(text, value as string);
    return names === null ? null : { hint: hint.hint, path: `.${names}` };
  }
  if (hint.hint === "unrouted") return /\bHono\b/.test(text) && !/\.basePath\(/.test(text) ? hint : null;
  if (hint.hint === "digits") return joinedDigits(text, value, run);
  if (hint.hint === "uncalled") return isUncalled(text, hint.path.slice(1)) ? hint : null;
  if (hint.hint === "objectText" || (hint.hint === "number" && typeof value === "number")) {
    const parameter = contextAsValue(text, result.shape !== null);
    if (parameter !== null) return { hint: "contextValue", path: `.${parameter}` };
  }
  const hints = result.hints();
  if (hints.nothing === "stdin" && /^(?:emitter|mapped|number|undefinedText)$/.test(hint.hint)) return STDIN;
  if (hint.hint === "number") {
    // The path of a member with an unusual name is empty, too.
    const better = typeof value === "number" ? emptyHint(result, NaN) : unawaitedHint(hints);
    return better ?? absentResult(text, run, "number") ?? lackingHint(hints) ?? hint;
  }
  if (hint.hint === "mapped") {
    const better = unawaitedHint(hints) ?? absentResult(text, run, "list") ?? lackingHint(hints);
    return better ?? (/\b(?:map|from|flatMap)\s*\(/.test(text) ? hint : null);
  }
  if (hint.hint === "jsonText" && value === "{}") return unawaitedHint(hints) ?? hint;
  if (hint.hint !== "undefinedText") return hint;
  const isText = typeof value === "string";
  if (!isText && !hints.joinsTexts) return null;
  const better =
    unawaitedHint(hints) ?? textBodyResult(text, run) ?? absentResult(text, run, "text") ?? lackingHint(hints);
  if (better) return better;
  if (hints.nothing === "environment") return { hint: "environment", path: "" };
  return isText && hints.joinsTexts ? hint : null;
}

/** Returns what the code probably meant, for a result that is empty, unless the run has reported a hint. Never throws. */
export function emptyHint(result: EmptyResult, value: unknown): Emptied | null {
  const { run, text, parsed, shape } = result;
  if (value === true) return printedTrue(text);
  const hints = result.hints();
  // Only some of its members are undefined, which may be on purpose.
  if (isPartOnly(value))
    return unawaitedHint(hints) ?? textBodyResult(text, run) ?? absentMember(text, run) ?? lackingHint(hints);
  const isNothing = value === undefined || value === null || isNaN(value);
  // The run has reported these.
  if (shape === null && parsed?.hint) return null;
  if (hints.nothing === "stdin") return STDIN;
  if (value === "") return hints.isFilledLate() ? LATE : null;
  if (shape === null && value === undefined && (parsed?.unreturned?.() ?? null) !== null) return null;
  const arrow = value === undefined ? (shape?.unreturned?.() ?? null) : null;
  if (arrow !== null) return { hint: arrow, path: "" };
  const { nothing, empty, member, printed, declared } = hints;
  const unawaited = unawaitedHint(hints);
  if (unawaited) return unawaited;
  const ofContext = value === undefined && member?.ofContext ? contextMember(member, run) : null;
  if (ofContext) return ofContext;
  const ofText = value === undefined || hasMembers(value) ? textBodyResult(text, run) : null;
  if (ofText) return ofText;
  const absent = isNothing
    ? absentResult(text, run, value === undefined || value === null ? "nothing" : "number")
    : hasMembers(value)
      ? absentResult(text, run, "members")
      : null;
  if (absent) return absent;
  const misspelt = value === undefined || isNaN(value) || hasMembers(value) ? lackingHint(hints) : null;
  if (misspelt && (!member || misspelt.hint === "collectionMember")) return misspelt;
  const hint = isNothing ? nothing : empty;
  if (hint) return { hint, path: "" };
  if (value === undefined && hints.returnsInForEach()) return { hint: "forEachReturn", path: "" };
  if (hints.isFilledLate()) return LATE;
  const called = value === undefined ? callbackCall(text, null) : null;
  if (called) return called;
  const chained = value === undefined ? printedThen(text, null) : null;
  if (chained) return chained;
  const main = shape === null && value === undefined ? mainCall(text) : null;
  if (main) return main;
  const inPlace = shape === null && value === undefined ? hints.missing() : null;
  if (inPlace === "noReturn") return { hint: inPlace, path: "" };
  if (value !== null && hints.hasLateCallback) return LATE;
  if (value !== undefined) return null;
  if (shape === null && hints.hasLostLines) return { hint: "lostLines", path: "" };
  if (hints.hasLoneReturn) return { hint: "loneReturn", path: "" };
  if (member && isOfContext(member)) return null;
  if (member?.of === "this") return { hint: "thisMember", path: `.${member.name}` };
  if (member) return { hint: "member", path: `.${member.name}${nearMember(member.name, text)}` };
  const missing = shape === null ? hints.missing() : (shape.returns?.() ?? null);
  if (missing !== null) return { hint: missing, path: "" };
  if (shape !== null) return null;
  const silent = hints.silentCall();
  if (silent) return { hint: "noValue", path: pathOf(silent) };
  const end = moduleEnd(text);
  if (end) return { hint: end.hint, path: `[${end.line}]` };
  const line = (parsed?.printed ?? printed)();
  if (line !== null) return { hint: "printed", path: `[${line}]` };
  const last = declared();
  if (last?.isTimer) return LATE;
  return last && { hint: "declared", path: `.${last.name}.line${last.line}${last.isInModule ? ".module" : ""}` };
}

export function pathOf({ name, line }: SilentCall): string {
  return line === null ? `.${name}` : `.${name}.line${line}`;
}

/** Whether a result is the name of a function of a Response, of which the text reads a member instead of its value. Never throws. */
function isUncalled(text: string, name: string): boolean {
  try {
    return /\bfetch\b/.test(text) && new RegExp(String.raw`\.\s*${name}\s*(?:[;\n)]|$)`).test(text);
  } catch {
    // A task has replaced a method of patterns.
    return false;
  }
}

/** A text that prints to stdout, which returns true. */
const STDOUT = /^\s*(?:return\s+|await\s+)?process\.stdout\.write\(/;

/** Returns the hint for code whose result is true because it has printed to stdout, or null. */
function printedTrue(text: string): Emptied | null {
  try {
    return STDOUT.test(text) ? { hint: "printed", path: "[1]" } : null;
  } catch {
    // A task has replaced a method of patterns.
    return null;
  }
}

/** Returns the hint for a text that + has made of two numbers of the query, or null. Never throws. */
function joinedDigits(text: string, value: unknown, run: Run): Emptied | null {
  try {
    const { query } = contextOf(run);
    const names = keys(query).filter((name) => /^[A-Za-z_]\w{0,63}$/.test(name) && text.includes(name));
    if (names.length < 2 || names.length > MAX_QUERY || !text.includes("+")) return null;
    for (const first of names)
      for (const second of names)
        if (first !== second && value === `${String(query[first])}${String(query[second])}`)
          return { hint: "digits", path: `.${first}.${second}` };
    return null;
  } catch {
    // A task has replaced a method of texts, lists or patterns.
    return null;
  }
}

/** The members of a query that are compared with a result. */
const MAX_QUERY = 10;

/** Returns the hint for a member that is misspelt, or for a function whose value is missing. */
function lackingHint(hints: EmptyHints): Emptied | null {
  const misspelt = hints.misspelt();
  if (hints.collectionMember) {
    const { kind, member, variable } = hints.collectionMember;
    return { hint: "collectionMember", path: `.${kind}.${member}${variable === null ? "" : `.${variable}`}` };
  }
  if (misspelt) return { hint: "misspelt", path: `.${misspelt.name}.${misspelt.meant}` };
  const silent = hints.silentFunction();
  return silent && { hint: "noValue", path: pathOf(silent) };
}

/** Whether a result has members, and only some of them are undefined. */
function isPartOnly(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (isProxy(value)) return false;
  if (isArray(value)) return value.length > 0;
  const names = keys(value);
  for (let index = 0; index < names.length; index += 1)
    if (getOwnPropertyDescriptor(value, names[index]!)?.value !== undefined) return true;
  return false;
}

function unawaitedHint({ unawaited, usedPromise, promiseUse, responseMember, uncalled }: EmptyHints): Emptied | null {
  if (unawaited) {
    const { variable, member, call } = unawaited;
    return { hint: "unawaited", path: `.${variable}.${member}.${call}` };
  }
  if (usedPromise !== null) return { hint: "usedPromise", path: `.${usedPromise}` };
  if (promiseUse) return hintOfUse(promiseUse);
  if (uncalled !== null) return { hint: "uncalled", path: `.${uncalled}` };
  if (!responseMember) return null;
  const { variable, member } = responseMember;
  return { hint: "responseMember", path: variable === "" ? `.${member}` : `.${member}.${variable}` };
}

/** Whether a value that is empty in JSON has members, which then are undefined. */
function hasMembers(value: unknown): boolean {
  return typeof value === "object" && value !== null && keys(value).length > 0;
}
