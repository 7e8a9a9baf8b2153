import { type AbsentSource, absentText, elsewhereText } from "../wire/absent-text.ts";
import type { ErrorMessage, FaultMessage } from "../wire/messages.ts";
import { absentReads } from "./absent-reads.ts";
import type { Emptied } from "./emptied.ts";
import { linesOf } from "./error-lines.ts";
import type { MemberRead } from "./member-reads.ts";
import { nearOwn, type RunValue, runValue } from "./run-values.ts";
import type { Run } from "./run.ts";
import { withoutAssertions } from "./without-assertions.ts";

const OF_UNDEFINED = /^Cannot (?:read|set) properties of undefined \((?:reading|setting) '(.{1,64})'\)$/;
const OF_NULL = /^Cannot read properties of null \(reading '(.{1,64})'\)$/;
const NO_PARTS = /^Cannot destructure property '.{1,64}' of '(.{1,100})' as it is undefined\.$/s;
const NO_LIST = /^(.{1,100}?) is not (?:iterable|a function or its return value is not iterable)/s;
/** Errors of the language that name parts of the code, so that a name in them is no name of a value. */
const OF_LANGUAGE = /^Cannot |^Unexpected | is not (?:defined|a function|a constructor|iterable)/;
/** Errors for a value that is undefined, or that was made from one. */
const OF_VALUE =
  /^Invalid URL$|^Failed to parse URL|\bundefined\b|\bNaN\b|^Invalid (?:array length|time value|count value|date)|must (?:be|have)|is required/;
/** How code states that a value is absent. */
const STATES_ABSENCE =
  /\b(?:missing|requires?d?|must|not (?:set|found|given|provided|configured|defined)|undefined|empty|needs?|needed|expected|provide|unset|no|set|without)\b/i;
/** How an error or a short result states that a server has refused the credentials. */
const REFUSED =
  /\b(?:HTTP|status)\b\D{0,20}(?<!\d)40[13](?!\d)|\b(?:code|failed|error|API|returned|responded|answered)\b\D{0,20}(?<!\d)40[13](?!\d| [a-z])|^40[13](?!\d| [a-z])|\bunauthori[sz]ed\b|\bforbidden\b|\bbad credentials\b|\b(?:invalid|incorrect) (?:api[ _-]?key|(?:access |bearer |auth )?token|credentials)\b/i;
/** Names of values that authenticate a request. */
const OF_ACCESS =
  /(?:key|token|secret|password|passwd|auth|authorization|credential|jwt)s?(?:_|$)|(?:^|_)(?:pass|pat|pw)(?:_|$)/i;
/** A longer result is data, and no answer that refuses. */
const MAX_REFUSAL = 1_024;
/** The members of a result that state a refusal, and a text that was made of a missing value. */
const REFUSED_RESULT =
  /^"?40[13]"?$|"status(?:Code)?":40[13]\b|"(?:error|message|statusText|detail|body)":"[^"]{0,60}(?:unauthori[sz]ed|forbidden|bad credentials|(?:invalid|missing) (?:api[ _-]?key|token|credentials))|^"(?:unauthori[sz]ed|forbidden|bad credentials)"$/i;
const SENDS_UNDEFINED = /"(?:Bearer|Basic|Token|token|bearer|Key) undefined"/;
/** The condition of a `throw`. */
const CONDITION = /\bif\s*\(([^;{}]{1,300})\)\s*\{?\s*throw\b/;
/** Shorter names occur in texts by chance. */
const MIN_NAME = 3;

/** Returns the hint for an error whose cause probably is a value that the run does not have, or undefined. Never throws. */
export function absentHint(source: string, fault: FaultMessage, run: Run): string | undefined {
  try {
    const { code, error, at } = fault;
    if ((code !== "task_threw" && code !== "task_error") || !error) return undefined;
    const absent = absentReads(source, run);
    if (absent.length === 0) return undefined;
    const text = withoutAssertions(source);
    const line = at && /^task\.[jt]s$/.test(at.file) ? (text.split("\n")[at.line - 1] ?? "") : "";
    const cause = causeOf(error, absent, line, text, run) ?? thrownFor(error, absent, linesOf(text, fault));
    const found = cause && elsewhere(cause, run);
    if (found) return elsewhereText(cause.source, cause.name, found.part, found.name);
    // Another hint names the members that a context has.
    return cause && cause.source !== "context" ? absentText(cause.source, cause.name) : undefined;
  } catch {
    // A task has replaced a method of texts, lists or patterns.
    return undefined;
  }
}

function causeOf(
  { message, cause, input }: ErrorMessage,
  absent: readonly MemberRead[],
  line: string,
  text: string,
  run: Run,
): MemberRead | undefined {
  const member = OF_UNDEFINED.exec(message)?.[1];
  if (member !== undefined) return absent.find((read) => readsMember(line === "" ? text : line, read, member));
  const whole = NO_PARTS.exec(message)?.[1] ?? NO_LIST.exec(message)?.[1];
  if (whole !== undefined) return absent.find((read) => isCalled(read, whole));
  const told = cause ? `${message} ${cause.message}` : message;
  if (OF_LANGUAGE.test(message)) return undefined;
  const named = absent.find(({ source, name }) => isNamed(told, source, name));
  if (named) return named;
  if (REFUSED.test(told)) return credentialOf(absent, run) ?? undefined;
  if (!OF_VALUE.test(told)) return undefined;
  const untested = absent.filter(({ isTested }) => !isTested);
  const inLine = untested.find((read) => hasWord(line, read.name) || hasWord(line, read.variable));
  if (inLine) return inLine;
  // The text that was parsed, if Node gives it.
  const isGiven = typeof input === "string" && !/\bundefined\b|^$/.test(input);
  return isGiven ? undefined : untested[0];
}

/** Returns the read in the condition of the `throw` that made an error: a test whether a value is there, or any test of what no run has. */
function thrownFor({ message }: ErrorMessage, absent: readonly MemberRead[], lines: string): MemberRead | undefined {
  // A Request without a body has no stream.
  const ofNull = OF_NULL.exec(message)?.[1];
  if (ofNull !== undefined) return absent.find(({ source, name }) => source === "stream" && name === ofNull);
  if (OF_LANGUAGE.test(message) || !/\bthrow\b/.test(lines.slice(lines.lastIndexOf("\n") + 1))) return undefined;
  const condition = CONDITION.exec(lines)?.[1] ?? "";
  return absent.find((read) => {
    const { source, name, variable } = read;
    if (isMistake(read)) return hasWord(lines, name) || hasWord(lines, variable);
    if (condition.includes("&&") || !/^(?:env|binding|secrets|params)$/.test(source)) return false;
    const own = variable === null ? escaped(name) : `(?:${escaped(name)}|${escaped(variable)})`;
    const value = String.raw`(?<![\w$])${own}(?:["']\])?`;
    return new RegExp(
      String.raw`!\s*(?:[\w$]{1,64}\??\s*[.[]\s*["']?){0,3}${value}\s*(?:\)|\|\||$)|${value}\s*(?:!==?|===?\s*(?:undefined|null)\b)`,
    ).test(condition);
  });
}

/** Whether a text reads a member of the absent value, in front of which only its name or its variable stands. */
function readsMember(text: string, { name, variable }: MemberRead, member: string): boolean {
  const own = variable === null ? escaped(name) : `(?:${escaped(name)}|${escaped(variable)})`;
  const read = String.raw`(?<![\w$])${own}(?:["']\])?\s*(?:\??\.\s*|\[\s*["']?)${escaped(member)}(?![\w$])`;
  return new RegExp(read).test(text);
}

function isCalled({ name, variable }: MemberRead, expression: string): boolean {
  if (expression === variable) return true;
  return expression.endsWith(`.${name}`) || (variable === null && expression === "undefined");
}

/** Whether an error that the code made is about a value of this name. */
function isNamed(message: string, source: AbsentSource, name: string): boolean {
  if (name.length < MIN_NAME || !hasWord(message, name)) return false;
  const isOwnName = source === "env" || source === "secrets" || source === "binding";
  return (isOwnName && /[A-Z]/.test(name)) || STATES_ABSENCE.test(message);
}

/** Whether a request was probably sent with this value as its credential, without a test of it. */
function isOfAccess({ source, name, variable, isTested }: MemberRead): boolean {
  if (isTested || (source !== "env" && source !== "secrets" && source !== "params" && source !== "binding"))
    return false;
  return OF_ACCESS.test(name) || (variable !== null && OF_ACCESS.test(variable));
}

/** Returns the read of a credential, or of a secret whose name is misspelt; null if there is none. */
function credentialOf(absent: readonly MemberRead[], run: Run): MemberRead | null {
  const isMisspelt = (read: MemberRead): boolean =>
    !read.isTested && read.source !== "params" && nearOf(read, run)?.part === "secrets";
  return absent.find(isOfAccess) ?? absent.find(isMisspelt) ?? null;
}

/** Whether the JSON of a result states that a server has refused the credentials, or has a credential made of a missing value. */
export function isRefusal(json: string): boolean {
  try {
    return json.length <= MAX_REFUSAL && (REFUSED_RESULT.test(json) || SENDS_UNDEFINED.test(json));
  } catch {
    // A task has replaced a method of patterns.
    return false;
  }
}

/** Returns the hint for a refusal whose cause probably is a credential that the run does not have, or null. Never throws. */
export function absentCredential(text: string, run: Run): Emptied | null {
  try {
    const cause = credentialOf(absentReads(text, run), run);
    return cause ? absentAs(cause, elsewhere(cause, run)) : null;
  } catch {
    // A task has replaced a method of texts, lists or patterns.
    return null;
  }
}

/** Which kind of empty result the absent value should explain. */
export type EmptyKind = "nothing" | "number" | "text" | "members" | "list";

/** Returns the hint for a result that probably is empty because of a value that the run does not have, or null. Never throws. */
export function absentResult(text: string, run: Run, kind: EmptyKind): Emptied | null {
  try {
    const absent = absentReads(text, run).filter(({ isTested }) => !isTested);
    if (absent.length === 0) return null;
    const ends = kind === "nothing" ? returnedTexts(text) : text;
    const cause = absent.find(
      (read) =>
        (kind === "nothing" && read.source === "env") || hasWord(ends, read.name) || hasWord(ends, read.variable),
    );
    return cause ? absentAs(cause, elsewhere(cause, run)) : null;
  } catch {
    // A task has replaced a method of texts, lists or patterns.
    return null;
  }
}

/**
 * Returns the hint for a value that the run does not have, and that a member of the result probably was made of: no context has it,
 * or the run has it elsewhere. Other values may be absent on purpose. Never throws.
 */
export function absentMember(text: string, run: Run): Emptied | null {
  try {
    const absent = absentReads(text, run);
    for (let index = 0; index < absent.length; index += 1) {
      const read = absent[index]!;
      const found = read.isTested ? null : elsewhere(read, run);
      if (found || (isMistake(read) && !read.isTested)) return absentAs(read, found);
    }
    return null;
  } catch {
    // A task has replaced a method of texts, lists or patterns.
    return null;
  }
}

/**
 * Returns the hint for a Response whose body is empty, has no members or has the word undefined, because of a value that the run does not
 * have and that the text puts into a Response; otherwise null. Never throws.
 */
export function absentInResponse(text: string, run: Run, isText: boolean): Emptied | null {
  try {
    const cause = absentReads(text, run).find((read) => {
      if (read.isTested || !/^(?:env|binding|secrets|params|stream)$/.test(read.source)) return false;
      return isText || isAnswered(text, read.name) || (read.variable !== null && isAnswered(text, read.variable));
    });
    return cause ? absentAs(cause, elsewhere(cause, run)) : null;
  } catch {
    // A task has replaced a method of texts, lists or patterns.
    return null;
  }
}

/** Whether a text has a word among the values of a Response. */
function isAnswered(text: string, word: string): boolean {
  const own = String.raw`(?<![\w$])${escaped(word)}(?![\w$])`;
  return new RegExp(String.raw`\b(?:new\s+Response|Response\s*\.\s*json)\s*\([^;]{0,400}?${own}`).test(text);
}

/** Whether no run has a value that is read like this. */
function isMistake({ source, name }: MemberRead): boolean {
  return source === "context" || source === "stream" || (source === "headers" && /[A-Z]/.test(name));
}

function absentAs({ source, name }: MemberRead, found: RunValue | null): Emptied {
  const more = found === null ? "" : `.${found.part}.${found.name}`;
  // A path has no hyphens.
  return { hint: "absent", path: `.${source}.${name.replaceAll("-", "$")}${more}` };
}

/** Returns where else a run has a value. A variable, a secret and a binding have their exact name, or a similar one among secrets and params. */
function elsewhere(read: MemberRead, run: Run): RunValue | null {
  const { source, name } = read;
  if (source === "headers" || source === "stream") return null;
  const isOwnName = source === "env" || source === "secrets" || source === "binding";
  const found = runValue(name, run, !isOwnName);
  if (found && (source !== "env" || found.part === "secrets" || found.part === "params")) return found;
  return nearOf(read, run);
}

/** Returns the secret or the param that the code probably means by a misspelt name, or null. */
function nearOf({ source, name }: MemberRead, run: Run): RunValue | null {
  if (source === "params") return nearOwn(name, run, ["params", "secrets"]);
  const isOwn = source === "env" || source === "secrets" || source === "binding";
  return isOwn ? nearOwn(name, run, ["secrets", "params"]) : null;
}

/** Returns the parts of a text that may be the result: what follows `return` or an arrow, and the last line. */
function returnedTexts(text: string): string {
  const parts = text.match(/\breturn\b[^;\n]*|=>\s*[^{;\n][^;\n]*/g) ?? [];
  const lines = text.trimEnd().split("\n");
  // A cut statement at the end of a line goes on in the next ones, which the last line often ends.
  return `${parts.join("\n")}\n${lines.length === 1 && parts.length > 0 ? "" : (lines[lines.length - 1] ?? "")}`;
}

function hasWord(text: string, word: string | null): boolean {
  return word !== null && text !== "" && new RegExp(String.raw`(?<![\w$])${escaped(word)}(?![\w$])`).test(text);
}

function escaped(name: string): string {
  return name.replace(/[$()*+.?[\\\]^{|}]/g, "\\$&");
}
