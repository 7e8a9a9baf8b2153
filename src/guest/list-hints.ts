import type { FaultMessage } from "../wire/messages.ts";
import { contextOf } from "./context.ts";
import { type MemberRead, memberReads } from "./member-reads.ts";
import { nearMember } from "./misspelt.ts";
import type { Run } from "./run.ts";
import { returnsNothing } from "./silent-call.ts";
import { NO_DATA, parameterOf } from "./source-hints.ts";
import { textBodyText } from "./text-body.ts";

/** A longer text is not looked at, because other runs of the guest wait meanwhile. */
const MAX_CHARACTERS = 32 * 1024;
const PATH = String.raw`[A-Za-z_$][\w$]{0,63}(?:\??\.[A-Za-z_$][\w$]{0,63}){0,7}`;
/** V8 names the expression, and its value only if a call spreads it. */
const NAMED = new RegExp(String.raw`^(${PATH}) is not iterable(?: \(cannot read property (undefined|null)\))?$`);
/** V8 names the value, and not the expression. */
const VALUED =
  /^(undefined|object null|object|function|(?:number|boolean|bigint|symbol) .{1,100}) is not iterable(?: \(cannot read property Symbol\(Symbol\.iterator\)\))?$/s;
const NOTHING = "Cannot convert undefined or null to object";
/** What begins at the position of the error: the expression, or a call that is given it. */
const AT_POSITION = new RegExp(
  String.raw`^(?:(keys|values|entries|assign|getOwnPropertyNames)\(\s*|(?:from|fromEntries)\(\s*|new\s+(?:Weak)?(?:Set|Map)\(\s*)?(${PATH})\s*(?![\w$.([?])`,
);

/** The value that is no list, as far as it is known. */
type Kind = "undefined" | "null" | "undefined or null" | "object" | "number" | "boolean" | "function" | "other";

/**
 * Returns the hint for code that goes through a value that is no list, or takes the members of a value that is not there. V8 names either the
 * expression or the value. Never throws.
 */
export function listHint(text: string, { code, error, at }: FaultMessage, run: Run): string | undefined {
  try {
    if (code !== "task_threw" || error?.name !== "TypeError" || text.length > MAX_CHARACTERS) return undefined;
    const { message } = error;
    const isOfMembers = message === NOTHING;
    const line = at && /^task\.[jt]s$/.test(at.file) ? (text.split("\n")[at.line - 1] ?? "") : "";
    const valued = VALUED.exec(message)?.[1];
    const named = valued === undefined ? NAMED.exec(message) : null;
    if (!isOfMembers && valued === undefined && !named) return undefined;
    const what = named?.[1] ?? (at === undefined ? undefined : whatAt(line.slice(at.column - 1), isOfMembers));
    if (what === undefined) return undefined;
    const told = named ? (named[2] ?? null) : isOfMembers ? "undefined or null" : valued!;
    const kind = kindOf(told);
    const sent = ofRequest(text, what, run);
    if (sent !== undefined) return sent;
    return isOfMembers ? ofNothing(text, what, kind, "{}") : ofList(text, what, kind, run);
  } catch {
    // A task has replaced a method of texts or patterns.
    return undefined;
  }
}

/** Returns the expression at the position of an error. */
function whatAt(rest: string, isOfMembers: boolean): string | undefined {
  const [, members, what] = AT_POSITION.exec(rest) ?? [];
  return isOfMembers === (members !== undefined) ? what : undefined;
}

function kindOf(told: string | null): Kind {
  if (told === null) return "other";
  if (told === "object null") return "null";
  const [word = ""] = told.split(" ");
  return told === "undefined or null" ? told : /^(?:bigint|symbol)$/.test(word) ? "other" : (word as Kind);
}

/** Returns the hint for a body that was not sent, or that is a text. */
function ofRequest(text: string, what: string, run: Run): string | undefined {
  const read = readOf(text, what);
  const { body } = run.request();
  const isBody = isBodyIn(text, what);
  if (isBody && body === undefined && (run.requestBody === null || run.rawBody !== null)) return NO_DATA;
  if (what === "context.data" && Array.isArray(body))
    return "context.data has the query and the members of an object: the list that was sent is context.body.";
  if (typeof body !== "string" || !read || !/^(?:body|data)$/.test(read.source)) return undefined;
  return textBodyText(read.name, run);
}

/** The first parameter of a function that is the code, if it takes its members. */
const MEMBERS =
  /^\s*(?:export\s+default\s+|module\.exports\s*=\s*)?(?:async\s*)?(?:function\s*\w*\s*)?\(\s*\{([^{}]{1,300})\}\s*\)/;

/** Whether an expression is the body of the request, or a variable that was given it. */
function isBodyIn(text: string, what: string): boolean {
  const [, of] = /^([\w$]+)\??\.body$/.exec(what) ?? [];
  if (of !== undefined) return of === "req" || parameterOf(text).includes(of);
  if (!/^[\w$]+$/.test(what)) return false;
  const own = what.replaceAll("$", "\\$");
  if (new RegExp(String.raw`\b(?:const|let|var)\s+${own}\s*=\s*(?:context|ctx)\.body\s*(?:[;\n]|$)`).test(text))
    return true;
  const parts =
    MEMBERS.exec(text)?.[1] ?? /\b(?:const|let|var)\s*\{([^{}]{1,300})\}\s*=\s*(?:context|ctx)\b(?!\.)/.exec(text)?.[1];
  return (parts ?? "").split(",").some((part) => part.trim() === what && what === "body");
}

/** Returns the read of a part of the context that is this expression, or whose variable has this name. */
function readOf(text: string, what: string): MemberRead | undefined {
  const plain = what.replaceAll("?.", ".");
  return memberReads(text).find(
    ({ source, name, variable }) =>
      variable === plain || new RegExp(String.raw`^[\w$]+\.${source}\.${name.replaceAll("$", "\\$")}$`).test(plain),
  );
}

function ofList(text: string, what: string, told: Kind, run: Run): string {
  const kind = told === "other" ? kindIn(text, what, run) : told;
  switch (kind) {
    case "undefined":
    case "null":
    case "undefined or null":
      return ofNothing(text, what, kind, "[]");
    case "object":
      return `${what} is an object, and no list: Object.entries(${what}) has its names and values, and Object.values(${what}) its values.`;
    case "number":
      return `${what} is a number, and no list: to count, write for (let i = 0; i < ${what}; i += 1).`;
    case "boolean":
    case "function":
      return `${what} is a ${kind}, and no list${kind === "function" ? `: call it, as in ${what}()` : ""}.`;
    default:
      return (
        misspelt(text, what) ??
        `${what} is no list here, and perhaps undefined: console.log(${what}) shows it. For the members of an object, use Object.entries(object).`
      );
  }
}

/** Returns the kind of a value that the text or the request shows. */
function kindIn(text: string, what: string, run: Run): Kind {
  if (nothingOf(text, what) !== undefined) return "undefined";
  const known = valueOf(what, run);
  if (known) return known.value === null ? "null" : (typeof known.value as Kind);
  if (!/^[\w$]+$/.test(what)) return "other";
  const value = String.raw`(?<![\w$.])(?:const|let|var)\s+${what.replaceAll("$", "\\$")}\s*(?::[^=;\n]{1,80})?=\s*`;
  if (!isSetOnce(text, what)) return "other";
  if (new RegExp(String.raw`${value}(?:undefined|void 0)\s*[;\n]`).test(text)) return "undefined";
  if (new RegExp(String.raw`${value}null\s*[;\n]`).test(text)) return "null";
  if (new RegExp(String.raw`${value}\{`).test(text)) return "object";
  return new RegExp(String.raw`${value}-?\d[\d_.]*\s*[;\n]`).test(text) ? "number" : "other";
}

/** Whether nothing but its declaration gives a variable its value, and nothing else has its name. */
function isSetOnce(text: string, name: string): boolean {
  const own = name.replaceAll("$", "\\$");
  const given = text.match(new RegExp(String.raw`(?<![\w$.])${own}\s*(?::[^=;\n]{1,80})?=(?![=>])`, "g")) ?? [];
  const asParameter = new RegExp(
    String.raw`[(,{[]\s*${own}\s*[,)}\]][^()\n]{0,80}(?:=>|\)\s*\{)|(?<![\w$.])${own}\s*=>`,
  );
  return given.length === 1 && !asParameter.test(text);
}

/** Returns the value of a member of the body or the query, if the code has not changed it since. */
function valueOf(what: string, run: Run): { readonly value: unknown } | null {
  const [, part, rest = ""] = /^(?:context|ctx)\.(body|query|data)((?:\.[\w$]+)*)$/.exec(what) ?? [];
  if (part === undefined) return null;
  let value: unknown = contextOf(run)[part as "body" | "query" | "data"];
  for (const name of rest.split(".").slice(1)) {
    if (typeof value !== "object" || value === null) return null;
    value = Object.getOwnPropertyDescriptor(value, name)?.value;
  }
  return { value };
}

function ofNothing(text: string, what: string, kind: Kind, empty: string): string {
  const why = kind === "null" ? undefined : (nothingOf(text, what) ?? misspelt(text, what));
  return why ?? `${what} is ${kind} here: test it first, or write ${what} ?? ${empty}.`;
}

/** Returns why a variable is undefined: the function of the text that makes it returns nothing. */
function nothingOf(text: string, what: string): string | undefined {
  if (!/^[\w$]+$/.test(what)) return undefined;
  const made = new RegExp(
    String.raw`\b(?:const|let|var)\s+${what.replaceAll("$", "\\$")}\s*(?::[^=;\n]{1,80})?=\s*(?:await\s+)?([A-Za-z_$][\w$]{0,63})\(`,
  ).exec(text)?.[1];
  if (made === undefined || !returnsNothing(text, made) || !isSetOnce(text, what)) return undefined;
  return `${what} is undefined here, because ${made}() returns nothing: put return with the value at the end of ${made}.`;
}

/** Returns the hint for a member whose name is probably misspelt. */
function misspelt(text: string, what: string): string | undefined {
  const name = /\.([A-Za-z_$][\w$]*)$/.exec(what)?.[1];
  const near = name === undefined ? "" : nearMember(name, text);
  return near === "" || near === ".length" || near === ".size"
    ? undefined
    : `Perhaps the value has no ${name}: did you mean ${near.slice(1)}?`;
}
