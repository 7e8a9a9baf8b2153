import { absentResult } from "./absent-hints.ts";
import type { ParsedCode } from "./compile.ts";
import { contextMember, isOfContext } from "./context-hints.ts";
import type { Emptied } from "./emptied.ts";
import type { EmptyHints } from "./empty-hints.ts";
import type { Run } from "./run.ts";
import type { Shape } from "./shapes/shape.ts";
import { nearMember } from "./source-hints.ts";

const { isNaN } = Number;
const { keys } = Object;

const STDIN: Emptied = { hint: "stdin", path: "" };

/** A run whose result is empty, and what is known of its code. */
export interface EmptyResult {
  readonly run: Run;
  readonly text: string;
  readonly parsed: ParsedCode | null;
  readonly shape: Shape | null;
  readonly hints: EmptyHints;
}

/** Returns a hint that is more exact than the hint of a result, because of the text of the code; null for none. Never throws. */
export function betterHint(result: EmptyResult, hint: Emptied, value: unknown): Emptied | null {
  const { run, text, hints } = result;
  if (hints.nothing === "stdin" && /^(?:emitter|mapped|number|undefinedText)$/.test(hint.hint)) return STDIN;
  if (hint.hint === "number") {
    const better = hint.path === "" ? emptyHint(result, NaN) : unawaitedHint(hints);
    return better ?? absentResult(text, run, "number") ?? hint;
  }
  if (hint.hint === "mapped") {
    const better = unawaitedHint(hints) ?? absentResult(text, run, "list");
    return better ?? (/\b(?:map|from|flatMap)\s*\(/.test(text) ? hint : null);
  }
  if (hint.hint === "jsonText" && value === "{}") return unawaitedHint(hints) ?? hint;
  if (hint.hint !== "undefinedText") return hint;
  const better = unawaitedHint(hints) ?? absentResult(text, run, "text");
  if (better) return better;
  if (hints.nothing === "environment") return { hint: "environment", path: "" };
  return hints.joinsTexts ? hint : null;
}

/** Returns what the code probably meant, for a result that is empty, unless the run has reported a hint. Never throws. */
export function emptyHint({ run, text, parsed, shape, hints }: EmptyResult, value: unknown): Emptied | null {
  const isNothing = value === undefined || value === null || isNaN(value);
  // The run has reported these.
  if (shape === null && parsed?.hint) return null;
  if (hints.nothing === "stdin") return STDIN;
  if (value === "") return null;
  if (shape === null && value === undefined && (parsed?.unreturned?.() ?? null) !== null) return null;
  const arrow = value === undefined ? (shape?.unreturned?.() ?? null) : null;
  if (arrow !== null) return { hint: arrow, path: "" };
  const { nothing, empty, member, printed, declared } = hints;
  const unawaited = unawaitedHint(hints);
  if (unawaited) return unawaited;
  const ofContext = value === undefined && member?.ofContext ? contextMember(member, run) : null;
  if (ofContext) return ofContext;
  const absent = isNothing
    ? absentResult(text, run, value === undefined || value === null ? "nothing" : "number")
    : hasMembers(value)
      ? absentResult(text, run, "members")
      : null;
  if (absent) return absent;
  const hint = isNothing ? nothing : empty;
  if (hint) return { hint, path: "" };
  const inPlace = shape === null && value === undefined ? hints.missing() : null;
  if (inPlace === "noReturn") return { hint: inPlace, path: "" };
  if (value !== null && hints.hasLateCallback) return { hint: "lateCallback", path: "" };
  if (value !== undefined) return null;
  if (shape === null && hints.hasLostLines) return { hint: "lostLines", path: "" };
  if (hints.hasLoneReturn) return { hint: "loneReturn", path: "" };
  if (member && isOfContext(member)) return null;
  if (member) return { hint: "member", path: `.${member.name}${nearMember(member.name, text)}` };
  const missing = shape === null ? hints.missing() : (shape.returns?.() ?? null);
  if (missing !== null) return { hint: missing, path: "" };
  if (shape !== null) return null;
  const line = (parsed?.printed ?? printed)();
  if (line !== null) return { hint: "printed", path: `[${line}]` };
  const last = declared();
  return last && { hint: "declared", path: `.${last.name}.line${last.line}` };
}

function unawaitedHint({ unawaited, usedPromise, responseMember }: EmptyHints): Emptied | null {
  if (unawaited) {
    const { variable, member, call } = unawaited;
    return { hint: "unawaited", path: `.${variable}.${member}.${call}` };
  }
  if (usedPromise !== null) return { hint: "usedPromise", path: `.${usedPromise}` };
  if (!responseMember) return null;
  const { variable, member } = responseMember;
  return { hint: "responseMember", path: variable === "" ? `.${member}` : `.${member}.${variable}` };
}

/** Whether a value that is empty in JSON has members, which then are undefined. */
function hasMembers(value: unknown): boolean {
  return typeof value === "object" && value !== null && keys(value).length > 0;
}
