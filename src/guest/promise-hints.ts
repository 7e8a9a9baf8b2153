import type { ErrorMessage, FaultMessage } from "../wire/messages.ts";
import { unawaitedBodyText } from "../wire/unawaited-text.ts";
import { responseMember } from "./response-member.ts";
import { escaped, isAsync, memberOfBody, unawaitedMember } from "./unawaited.ts";
import { usedPromise } from "./used-promise.ts";
import { withoutTexts } from "./without-texts.ts";

/** A longer text is not looked at, because other runs of the guest wait meanwhile. */
const MAX_CHARACTERS = 32 * 1024;
const NO_OBJECT = /^Cannot (?:read|set) properties of undefined \((?:reading|setting) '(.{1,64})'\)$/;
const NO_LIST = /^([A-Za-z_$][\w$]{0,63}) is not iterable$/;
const NO_FUNCTION = /^([A-Za-z_$][\w$]{0,63})\.[A-Za-z_$][\w$]{0,63} is not a function$/;
const NO_FUNCTION_OF_CALL = /^([A-Za-z_$][\w$]{0,63})\(\.\.\.\)\.([A-Za-z_$][\w$]{0,63}) is not a function$/;
/** Methods of a Response that return promises. */
const READS = /^(?:json|text|blob|arrayBuffer|formData|bytes)$/;
/** A callback of `then` that has braces and no return. */
export const SILENT_CALLBACK: RegExp =
  /\.then\(\s*(?:async\s*)?(?:\([^()]{0,80}\)|[\w$]+)\s*=>\s*\{(?![^{}]*\breturn\b)[^{}=]*\}\s*\)/;
/** A variable that is given the value of a callback without return. */
const TAKEN = new RegExp(
  String.raw`\b(?:const|let|var)\s+([A-Za-z_$][\w$]{0,63})\s*=\s*await\b[^;]{0,1000}${SILENT_CALLBACK.source}\s*(?:;|\n|$)`,
);
const CALLBACK =
  "The callback of then returns nothing: put return before its last value, between the braces, or leave the braces out.";
/** A pattern of a list, or a loop, that is given the promise of several others. */
const UNAWAITED_LIST = /(?:\]\s*=|\bof|\.\.\.)\s*Promise\s*\.\s*(all|allSettled|race|any)\s*\(/;
/** Functions of node:fs/promises. */
const OF_FILES = /^(?:readFile|writeFile|readdir|stat|mkdir|access|unlink|rm)$/;

/**
 * Returns the hint for an error of code that reads a promise or a Response like its result, or whose callback of `then` returns nothing.
 * Never throws.
 */
export function promiseHint(text: string, { code, error }: FaultMessage): string | undefined {
  try {
    if (code !== "task_threw" || error?.name !== "TypeError" || text.length > MAX_CHARACTERS) return undefined;
    return ofMember(text, error) ?? ofVariable(text, error);
  } catch {
    // A task has replaced a method of texts or patterns.
    return undefined;
  }
}

function ofMember(text: string, { message }: ErrorMessage): string | undefined {
  const read = NO_OBJECT.exec(message)?.[1];
  if (read === undefined) return undefined;
  const response = responseMember(text);
  if (response?.variable === "" && isRead(text, response.member, read))
    return `A Response has no ${response.member}: write const data = await (await fetch(url)).json().`;
  if (response && response.variable !== "" && isRead(text, `${response.variable}.${response.member}`, read))
    return `${response.variable} is a Response, which has no ${response.member}: write const data = await ${response.variable}.json().`;
  const taken = TAKEN.exec(text)?.[1];
  if (taken !== undefined && isRead(text, taken, read)) return CALLBACK;
  const body = memberOfBody(withoutTexts(text));
  if (body && new RegExp(String.raw`(?<![\w$])${escaped(body.member)}\s*\.\s*${escaped(read)}(?![\w$])`).test(text))
    return unawaitedBodyText(body.call, body.member);
  const unawaited = unawaitedMember(text);
  if (!unawaited) return undefined;
  const { variable, member, call } = unawaited;
  if (variable !== call && isRead(text, `${variable}.${member}`, read))
    return `${variable} is a promise, so ${variable}.${member} is undefined: put await before ${call}(...).`;
  return variable === call && isRead(text, member, read)
    ? `${call}(...) is a promise, so its ${member} is undefined: put await before ${call}(...).`
    : undefined;
}

function ofVariable(text: string, { message }: ErrorMessage): string | undefined {
  const [, called, method] = NO_FUNCTION_OF_CALL.exec(message) ?? [];
  if (called !== undefined && called !== "fetch" && isAsync(withoutTexts(text), called))
    return `${called}(...) is a promise: write (await ${called}(...)).${method}(...).`;
  const variable = (NO_LIST.exec(message) ?? NO_FUNCTION.exec(message))?.[1];
  const call = variable === undefined ? null : promiseOf(withoutTexts(text), variable, /\bpromises\b/.test(text));
  if (call !== null) return `${variable} is a promise: put await before ${call}(...), where ${variable} is declared.`;
  if (/ is not iterable\b/.test(message)) {
    const of = UNAWAITED_LIST.exec(withoutTexts(text))?.[1];
    if (of !== undefined) return `Promise.${of}(...) returns a promise: put await before Promise.${of}(...).`;
  }
  const used = / is not iterable$|^Spread syntax/.test(message) ? usedPromise(text) : null;
  return used === null ? undefined : `${used}(...) returns a promise: put await before ${used}(...).`;
}

/** Returns the name of the function whose promise a variable holds, or null. */
function promiseOf(text: string, variable: string, hasFiles: boolean): string | null {
  const held = new RegExp(
    String.raw`\b(?:const|let|var)\s+${escaped(variable)}\s*(?::[^=;\n]{1,80})?=\s*(?:[\w$]{1,64}\s*\.\s*){0,2}([\w$]{1,64})\s*\(`,
  ).exec(text);
  const call = held?.[1];
  if (call === undefined) return null;
  const isMethod = /\.\s*[\w$]+\s*\($/.test(held![0]);
  if (!isMethod && isAsync(text, call)) return call;
  if (isMethod && READS.test(call) && /\bfetch\s*\(/.test(text)) return call;
  return OF_FILES.test(call) && hasFiles ? call : null;
}

/** Whether the text reads a member of an expression of names. */
function isRead(text: string, expression: string, member: string): boolean {
  const names = expression
    .split(".")
    .map(escaped)
    .join(String.raw`\s*\.\s*`);
  return new RegExp(String.raw`(?<![\w$.])${names}\s*\.\s*${escaped(member)}(?![\w$])`).test(text);
}
