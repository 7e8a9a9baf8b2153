import type { FaultMessage } from "../wire/messages.ts";
import { moduleFunctionHint } from "./module-functions.ts";
import { withoutTexts } from "./without-texts.ts";

/** A longer text is not looked at, because other runs of the guest wait meanwhile. */
const MAX_CHARACTERS = 32 * 1024;
/** The end of a text in which a returned function is looked for. */
const MAX_END = 200;
const MAX_RETURNED = 500;
/** A method that was called without its object, as the service calls a function that code returns. */
const WITHOUT_OBJECT = /^(Array|String|Map|Set|Date|Promise)\.prototype\.([\w$]{1,64}) called on null or undefined$/;
/** The other messages for a method without its object. Two of them name no method. */
const OF_NO_OBJECT =
  /^Cannot convert undefined or null to object$|^this is not a Date object\.$|^(?:Method )?\w{1,32}\.prototype\.[\w$]{1,64} (?:called on incompatible receiver (?:undefined|null)|requires that 'this' be )/;
/** The end of code that returns a member without a call of it. */
const RETURNED_MEMBER = /\breturn\s[^;]{0,300}\.\s*([A-Za-z_$][\w$]{0,63})[\s;}]{0,100}$/;
const RETURNED_NAME = /\breturn\s+([A-Za-z_$][\w$]{0,63})[\s;}]{0,100}$/;
/** A value that ends a line, and an expression in parentheses that begins the next one. */
const PARENTHESIS_FIRST =
  /(?:([A-Za-z_$][\w$]{0,63})|[\w"'`)\]}])[ \t]*\n[ \t]*\((?:async\b|function\b|\(|[\w$,\s]{0,80}\)\s*=>)/;
const VALUE_CALLED =
  /^(?:([A-Za-z_$][\w$]{0,63})|-?[\d.]{1,40}|["'`{[(].{0,200}|[\w$.]{1,80}\(\.\.\.\)) is not a function$/s;
/** A method of a Response or a Request, which returns a promise, and the method that was called on that. */
const OF_BODY =
  /\.(json|text|blob|arrayBuffer|formData|bytes)(?:\(\.\.\.\)\.([\w$]{1,64}) is not a function| is not a function or its return value is not iterable)$/;
const OTHER_RUNTIME = /^(Deno|Bun) is not defined$/;

/**
 * Returns the hint for an error of a call, which only the text of the code explains: of a function that a module does not have, of a method
 * without its object, of the promise of a body. Never throws.
 */
export function callHint(text: string, { code, error, at }: FaultMessage): string | undefined {
  try {
    if (code !== "task_threw" || !error || text.length > MAX_CHARACTERS) return undefined;
    const { name, message } = error;
    if (name === "ReferenceError") return environmentHint(text, OTHER_RUNTIME.exec(message)?.[1]);
    if (name !== "TypeError") return undefined;
    const [, owner, method] = WITHOUT_OBJECT.exec(message) ?? [];
    if (method !== undefined) return methodHint(text, owner!, method);
    const returned = at === undefined && OF_NO_OBJECT.test(message) ? returnedMethod(text) : undefined;
    if (returned !== undefined) return returnedHint(returned);
    const [, read, called] = OF_BODY.exec(message) ?? [];
    if (read !== undefined && /\bfetch\b/.test(text)) {
      const use = called === undefined ? "" : `.${called}(...)`;
      return `${read}() returns a promise: put await before the call, as in (await response.${read}())${use}.`;
    }
    if (isCalledAcross(text, message))
      return "A line that begins with ( calls the value at the end of the line above it: put ; at the end of that line.";
    return moduleFunctionHint(text, message);
  } catch {
    // A task has replaced a method of texts or patterns.
    return undefined;
  }
}

/** Whether a call that failed is one of a value at the end of a line, because no semicolon ends that line. */
function isCalledAcross(text: string, message: string): boolean {
  const called = VALUE_CALLED.exec(message);
  const found = called && PARENTHESIS_FIRST.test(text) ? PARENTHESIS_FIRST.exec(withoutTexts(text)) : null;
  return found !== null && called?.[1] === found[1];
}

/** Returns the hint for the environment of another runtime. */
function environmentHint(text: string, runtime: string | undefined): string | undefined {
  if (runtime === undefined || !new RegExp(String.raw`\b${runtime}\s*\.\s*env\b`).test(text)) return undefined;
  return `The code runs in Node, which has no ${runtime}: read context.secrets.NAME instead of ${runtime}.env, or context.params.NAME. A task or a token sets both.`;
}

function returnedHint(method: string): string {
  return `The code returns the function ${method} of a value, so the service calls it without that value: call it, as in value.${method}(...).`;
}

/** Returns the method that a text returns at its end without a call, perhaps by a variable. */
function returnedMethod(text: string): string | undefined {
  const end = text.slice(-MAX_RETURNED);
  const member = RETURNED_MEMBER.exec(end)?.[1];
  if (member !== undefined) return member;
  const name = RETURNED_NAME.exec(end)?.[1]?.replaceAll("$", "\\$");
  if (name === undefined) return undefined;
  return new RegExp(
    String.raw`\b(?:const|let|var)\s+${name}\s*=[^;\n]{0,300}\.\s*([A-Za-z_$][\w$]{0,63})[ \t]*(?:;|\n)`,
  ).exec(text)?.[1];
}

function methodHint(text: string, owner: string, method: string): string {
  const isReturned = text
    .slice(-MAX_END)
    .replace(/[\s;}]+$/, "")
    .endsWith(`.${method}`);
  return isReturned
    ? returnedHint(method)
    : `${method} is a function of a value of the kind ${owner}, and was called without one: write value.${method}(...).`;
}
