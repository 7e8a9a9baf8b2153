import { absentText } from "../wire/absent-text.ts";
import { distance } from "../wire/distance.ts";
import type { ErrorMessage, FaultMessage } from "../wire/messages.ts";
import { noMemberHint } from "./context-hints.ts";
import { nearMember } from "./misspelt.ts";
import { nameHint } from "./name-hints.ts";
import { nearName } from "./near-name.ts";
import { runValue } from "./run-values.ts";
import type { Run } from "./run.ts";
import { textBodyText } from "./text-body.ts";

/** A longer text is not looked at, because other runs of the guest wait meanwhile. */
const MAX_CHARACTERS = 32 * 1024;
/** The part of a line in front of a position in which an expression is looked for. */
const MAX_EXPRESSION = 120;

const EVALUATES = /(?<![\w$.])(?:eval|Function)\(/;
/** V8's messages for code. Its messages for JSON and for patterns begin with other words, or name JSON. */
const OF_PARSER = /^(?:Unexpected|Invalid or unexpected|missing |Missing |Illegal |Identifier )(?!.* JSON\b)/;
const OF_EVAL = "The text that the code gives to eval or Function does not parse. The code itself does.";
const NO_FUNCTION = /^(.{1,200}?)\.([A-Za-z_$][\w$]*) is not a function$/s;
const NO_OBJECT = /^Cannot (?:read|set) properties of (undefined|null) \((?:reading|setting) '(.{1,64})'\)$/;
const NO_PARTS = /^Cannot destructure property '(.{1,64})' of '(.{1,100})' as it is (undefined|null)\.$/s;
const { getOwnPropertyNames, hasOwn: isOwn } = Object;
const OWNERS = [
  Array.prototype,
  String.prototype,
  Promise.prototype,
  Map.prototype,
  Number.prototype,
  Date.prototype,
  console,
  Math,
  JSON,
  Object,
  Array,
  Promise,
];

const NAME = /^[A-Za-z_$][\w$]*$/;
/** Members of lists, texts, requests, answers, URLs and errors that are values. */
const VALUES =
  /^(?:length|size|byteLength|ok|status|statusText|statusCode|bodyUsed|redirected|aborted|url|href|origin|protocol|host|hostname|port|pathname|search|hash|message|stack|env|argv|platform|pid)$/;
/** Functions of a text that make HTML. Code hardly ever means them. */
const OF_HTML = /^(?:anchor|big|blink|bold|fixed|fontcolor|fontsize|italics|link|small|strike|sub|sup)$/;
/** Functions of other languages, and what JavaScript calls them. */
const OTHER_NAMES: Readonly<Record<string, string>> = {
  contains: "includes",
  append: "push, or concat for a text",
  upper: "toUpperCase",
  lower: "toLowerCase",
  strip: "trim",
  each: "forEach",
  isEmpty: "length === 0",
  sum: "reduce((a, b) => a + b, 0)",
  sorted: "toSorted",
  reversed: "toReversed",
  toUpper: "toUpperCase",
  toLower: "toLowerCase",
};

/** Which values have a function. The first that has it decides. */
const KINDS: readonly { prototype: object; hint: string }[] = [
  {
    prototype: Array.prototype,
    hint: "Only a list has NAME, and the value is none: Array.from(value) makes one of a Set or a Map, Object.values(value) of an object, and split of a text.",
  },
  { prototype: Number.prototype, hint: "Only a number has NAME: write Number(value) if the value is a text." },
  { prototype: Date.prototype, hint: "Only a date has NAME: write new Date(value) if the value is a time." },
  {
    prototype: String.prototype,
    hint: "Only a text has NAME: write String(value), or JSON.stringify(value) for an object.",
  },
  { prototype: Promise.prototype, hint: "Only a promise has NAME, and the value is none: use the value itself." },
  { prototype: Map.prototype, hint: "Only a Map has NAME: read a member of an object as value[name]." },
];

/**
 * Returns the hint for an error of JavaScript whose reason the text of the code shows: a misspelt name, an `await` that is missing, a
 * value that is not there. Never throws.
 *
 * @param fault with its position in the text
 */
export function sourceHint(text: string, { code, error, at }: FaultMessage, run: Run): string | undefined {
  try {
    if (code !== "task_threw" || !error || text.length > MAX_CHARACTERS) return undefined;
    if (error.message === "" && error.stack !== undefined) return "The error has no message: write new Error(text).";
    const line = at && /^task\.[jt]s$/.test(at.file) ? (text.split("\n")[at.line - 1] ?? "") : "";
    const before = at ? line.slice(Math.max(0, at.column - 1 - MAX_EXPRESSION), at.column - 1) : "";
    if (error.name === "ReferenceError") return nameHint(text, error.message, run);
    if (error.name === "SyntaxError")
      return EVALUATES.test(text) && OF_PARSER.test(error.message) ? OF_EVAL : undefined;
    if (error.name !== "TypeError") return undefined;
    return ofFunction(text, error, run) ?? ofMissing(text, error, before, run);
  } catch {
    // A task has replaced a method of texts or patterns.
    return undefined;
  }
}

function ofFunction(text: string, { message }: ErrorMessage, run: Run): string | undefined {
  const [, owner, name] = NO_FUNCTION.exec(message) ?? [];
  if (owner === undefined || name === undefined) {
    const called = /^(.{1,64}) is not a function$/.exec(message)?.[1];
    if (called === undefined) return undefined;
    return NAME.test(called)
      ? `Only a function can be called, and ${called} is none: leave () out, or check the line that declares ${called}.`
      : "Only a function can be called: check the value in front of the parentheses.";
  }
  if (NAME.test(owner)) {
    const made = new RegExp(
      String.raw`\b(?:const|let|var)\s+${escaped(owner)}\s*=\s*(?!await\b|new\b|function\b|async\b)[\w$.]+\(`,
    );
    const isAwaited = /^(?:json|text|blob|arrayBuffer|map|filter|forEach|find|join|slice|reduce|some|every)$/.test(
      name,
    );
    if (isAwaited && made.test(text))
      return `Perhaps ${owner} is a promise: write await in front of the call that makes it.`;
  }
  if (new RegExp(String.raw`\bclass\s+${escaped(owner)}\b`).test(text))
    return `${name} is a function of the objects of the class ${owner}: write new ${owner}().${name}(...), or static before ${name} in the class.`;
  if (name === "headers" || name === "searchParams")
    return `${name} is a value, and no function: write ${name}.get("name").`;
  if (VALUES.test(name)) return `${name} is a value, and no function: leave () out.`;
  const other = isOwn(OTHER_NAMES, name) ? OTHER_NAMES[name] : undefined;
  if (other !== undefined) return `JavaScript has no ${name}: did you mean ${other}?`;
  const { body } = run.request();
  const isJson = typeof body === "string" && /^\s*[[{]/.test(body);
  if (isJson && isOfBody(owner) && isOwn(Array.prototype, name) && !isOwn(String.prototype, name))
    return `${owner} is a text, and only a list has ${name}: send JSON with Content-Type: application/json, in an envelope as a list in data, or read JSON.parse(${owner}).`;
  if (isOwn(Array.prototype, name) && isOwn(String.prototype, name))
    return `Only a list or a text has ${name}: console.log shows the value.`;
  for (let index = 0; index < KINDS.length; index += 1) {
    const { prototype, hint } = KINDS[index]!;
    if (isOwn(prototype, name)) return hint.replace("NAME", () => name);
  }
  const known: string[] = [];
  for (let index = 0; index < OWNERS.length; index += 1) {
    const names = getOwnPropertyNames(OWNERS[index]);
    for (let at = 0; at < names.length; at += 1) if (!OF_HTML.test(names[at]!)) known[known.length] = names[at]!;
  }
  const near = nearName(name, known);
  // Names of functions resemble each other: getName is not a misspelt getDate.
  if (near !== null && (name.length >= 8 || distance(name.toLowerCase(), near.toLowerCase()) < 2))
    return `Did you mean ${near}?`;
  return `The value in front of .${name} has no function ${name}: leave () out if ${name} is a value. console.log shows what there is.`;
}

function hasText(run: Run): boolean {
  return typeof run.request().body === "string";
}

/** Returns the names of the context: `context`, `ctx` and the only parameter of a function that is the code. */
export function parameterOf(text: string): readonly string[] {
  const [, bare, inBrackets] =
    /^\s*(?:export\s+default\s+|module\.exports\s*=\s*)?(?:async\s+)?(?:([A-Za-z_$][\w$]*)\s*=>|(?:function\s*\w*\s*)?\(\s*([A-Za-z_$][\w$]*)\s*\))/.exec(
      text,
    ) ?? [];
  return ["context", "ctx", bare ?? inBrackets ?? "context"];
}

function ofMissing(text: string, { message }: ErrorMessage, before: string, run: Run): string | undefined {
  const [, kind, member] = NO_OBJECT.exec(message) ?? [];
  const [, part, whole, partKind] = NO_PARTS.exec(message) ?? [];
  const what = whole ?? expressionIn(before);
  const is = kind ?? partKind;
  if (is === undefined) return undefined;
  const last = /\.([A-Za-z_$][\w$]{0,63})\s*\??\.\s*$/.exec(before)?.[1] ?? memberOf(text, what);
  const near = last === undefined || whole !== undefined || is === "null" ? "" : nearMember(last, text);
  if (near !== "") return `The value has no ${last}: did you mean ${near.slice(1)}?`;
  const lacking = ofRequest(before, what, is);
  if (lacking !== undefined) return lacking;
  const inQuery = member !== undefined && isOfBody(what) ? queryHint(member, run) : undefined;
  if (inQuery !== undefined) return inQuery;
  // The names of the context, if the body of the request is a text.
  const contexts = hasText(run) ? parameterOf(text) : null;
  if (
    what === null &&
    run.request().body === undefined &&
    new RegExp(String.raw`\bbody\s*:\s*\{[^}]*\b${escaped(member ?? "")}\b`).test(text)
  )
    return dataHint("context.body");
  if (what === null) return `The value in front of .${member} is ${is}: test it first, or write ?.${member}.`;
  const [, of, lost] = contexts === null ? [] : (/^([\w$]+)\.(?:body|data)\.([\w$]+)$/.exec(what) ?? []);
  if (of !== undefined && lost !== undefined && contexts!.includes(of)) {
    return textBodyText(lost, run);
  }
  const data = dataHint(what) ?? (is === "undefined" ? noMemberHint(text, what) : undefined);
  if (data !== undefined) return data;
  if (/^this(?:\.|$)/.test(what) && !/\bclass\b|\bnew\s|\bprototype\b/.test(text))
    return "this has nothing of the request: write context.query, context.body or context.data. A function has the context as its first parameter.";
  const access = whole === undefined ? `, or write ${what}?.${member}` : `, or write { ${part} } = ${what} ?? {}`;
  return `${what} is ${is} here: test it first${access}.`;
}

/** Returns the member that the declaration of a variable reads, as in `const name = user.nmae`. */
function memberOf(text: string, variable: string | null): string | undefined {
  if (variable === null || !/^[A-Za-z_$][\w$]*$/.test(variable)) return undefined;
  const declared = String.raw`\b(?:const|let|var)\s+${escaped(variable)}\s*=\s*(?:await\s+)?[A-Za-z_$][\w$.]*\.([A-Za-z_$][\w$]{0,63})\s*(?:[;\n]|$)`;
  return new RegExp(declared).exec(text)?.[1];
}

/** Returns the hint for a part of a Request of fetch handlers that is absent, or for a variable of a bundler. */
function ofRequest(before: string, what: string | null, is: string): string | undefined {
  // Not a literal: the bundler of the guest refuses the words.
  if (/^import\.meta\.env$/.test(what ?? ""))
    return "Only bundlers such as Vite set the env of import.meta: use context.params and context.secrets of a task or a token.";
  if (is === "null") {
    // V8 gives the position of the dot.
    const [, list, name] =
      /\b(searchParams|headers)\s*\.\s*get\(\s*["']([\w-]{1,64})["']\s*\)\s*(?:\??\.\s*)?$/.exec(before) ?? [];
    if (list === "searchParams") return absentText("query", name!);
    return list === undefined ? undefined : `The request has no header ${name}: send it, or test it first.`;
  }
  const [, request, part] = /^(req|request)\.(query|params)$/.exec(what ?? "") ?? [];
  if (request === undefined) return undefined;
  return part === "query"
    ? `A Request has no query: read new URL(${request}.url).searchParams.get("name").`
    : `A Request has no params: read the path in new URL(${request}.url).pathname.`;
}

/** The hint for code that needs data, in a request without data. */
export const NO_DATA =
  'The request has no data, so its body is undefined: send data with the code, as {"code": "...", "data": {...}} or caisson run --input, or as the body of a named task.';

/** Returns the hint for a part of the context, or of the environment, that the run does not have. */
function dataHint(expression: string): string | undefined {
  if (isOfBody(expression)) return NO_DATA;
  const [, owner, name] = /(?:^|\.)(query|data|params|headers|env)\.([\w$]+)$/.exec(expression) ?? [];
  if (expression.startsWith("process.env.")) return absentText("env", expression.slice("process.env.".length));
  if (owner === "env")
    return `env has the params and the secrets of the task or the token, and no ${name}. A task has no bindings.`;
  if (owner === "query") return absentText("query", name!);
  if (owner === "data") return absentText("data", name!);
  if (owner !== undefined) return `${owner} has no ${name}: test it first.`;
  if (/^(?:context|ctx)\.[\w$]+$/.test(expression)) {
    return "The context has context.data for the query and the members of the body, context.body, context.query, context.headers, context.params and context.secrets.";
  }
  return undefined;
}

/** Whether an expression is the body of the request. */
function isOfBody(expression: string | null): boolean {
  return expression !== null && /(?:^|\.)body$/.test(expression) && !/\bres(?:ponse)?\./.test(expression);
}

/** Returns the hint for a member of a body that was not sent, if the query has the member. */
function queryHint(member: string, run: Run): string | undefined {
  if (runValue(member, run, false)?.part !== "query") return undefined;
  return `The request has no body, and its query has ${member}: write context.query.${member}.`;
}

/** Returns the expression at the end of a text that ends with a dot or a bracket, or null. */
function expressionIn(before: string): string | null {
  return (
    /(?:^|\.\.\.|[^\w$.\])])([A-Za-z_$][\w$]*(?:\??\.[A-Za-z_$][\w$]*|\[[^\][]{1,40}\])*)\s*(?:\.|\[["']?)\s*$/.exec(
      before,
    )?.[1] ?? null
  );
}

function escaped(name: string): string {
  return name.replaceAll("$", "\\$");
}
