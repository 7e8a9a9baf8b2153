import type { FaultMessage } from "../wire/messages.ts";
import { type Token, tokensOf } from "./scan-tokens.ts";

/** A longer text is not looked at, because other runs of the guest wait meanwhile. */
const MAX_CHARACTERS = 32 * 1024;
/** V8's messages for JSON, except for those of values that are no JSON text at all, which have other hints. */
const OF_JSON = /^(?!"(?:\[object Object\]|undefined)").*(?: is not valid JSON$|\bin JSON at position \d)/s;
const PAGE =
  "The text is a page, such as HTML, and not JSON: check the URL, and test response.ok before response.json().";
const RULES =
  "The parsed text is not JSON: JSON has names and texts in double quotes, no comma before ] and }, and true, false and null in lower case.";
const OF_RESPONSE =
  "The value is a Response, and not its text: write await response.json() instead of JSON.parse(response).";
const OF_PROMISE =
  "The value is a promise, and not its text: put await before the call that makes it. await response.json() parses the answer of fetch.";
const NO_OWN_MODULE = /^there is no module "(\.\.?\/[\w./-]{1,100})"/;
const OF_FOR_EACH = /\bPromise\.(?:all|allSettled|race|any)\(\s*[\w$.[\], ]{1,200}\.forEach\(/;
/** The most names of one import that are looked at. */
const MAX_NAMES = 20;

/**
 * Returns the hint for an error whose usual hint does not fit, as the text of the code shows: JSON that no fetch has read, and an import of
 * types only. Never throws.
 */
export function misreadHint(text: string, { code, error }: FaultMessage): string | undefined {
  try {
    if (!error || text.length > MAX_CHARACTERS) return undefined;
    if (code === "module_missing") return typesHint(text, NO_OWN_MODULE.exec(error.message)?.[1]);
    if (code === "task_threw" && error.message.startsWith("undefined is not iterable") && OF_FOR_EACH.test(text))
      return "forEach returns nothing: write await Promise.all(list.map(...)).";
    if (code !== "task_threw" || error.name !== "SyntaxError" || !OF_JSON.test(error.message)) return undefined;
    if (error.message.endsWith('"[object Response]" is not valid JSON')) return OF_RESPONSE;
    if (error.message.endsWith('"[object Promise]" is not valid JSON')) return OF_PROMISE;
    if (error.message.startsWith("Unexpected token '<'")) return /\bfetch\b/.test(text) ? PAGE : undefined;
    return /\bJSON\.parse\b/.test(text) && !/\bfetch\b|\.json\(/.test(text) ? RULES : undefined;
  } catch {
    // A task has replaced a method of texts or patterns.
    return undefined;
  }
}

/** Returns the hint for an import of a submitted module that is missing, if the text uses its names as types only. */
function typesHint(text: string, module: string | undefined): string | undefined {
  if (module === undefined) return undefined;
  const imported = new RegExp(
    String.raw`^[ \t]*import\s*\{([^{}]{1,500})\}\s*from\s*["']${module.replaceAll(".", "\\.")}["']`,
    "m",
  ).exec(text);
  const names = (imported?.[1] ?? "").split(",").map((name) => name.trim());
  if (names.at(-1) === "") names.pop();
  if (!imported || names.length === 0 || names.length > MAX_NAMES) return undefined;
  const rest = tokensOf(text.slice(0, imported.index) + text.slice(imported.index + imported[0].length));
  if (rest === null || !names.every((name) => isType(rest, name))) return undefined;
  const subject = names.length === 1 ? `${names[0]} is` : "The names are";
  return `${subject} used only as a type: write import type { ${names.join(", ")} } from "${module}", which needs no module.`;
}

/** Whether a text has a name, and only where a type stands. */
function isType(tokens: readonly Token[], name: string): boolean {
  if (!/^[A-Z]\w{0,63}$/.test(name)) return false;
  let uses = 0;
  for (let index = 0; index < tokens.length; index += 1) {
    if (tokens[index]!.text !== name) continue;
    uses += 1;
    if (!isTypeAt(tokens, index)) return false;
  }
  return uses > 0;
}

function isTypeAt(tokens: readonly Token[], index: number): boolean {
  const text = (at: number): string => tokens[at]?.text ?? "";
  const next = text(index + 1);
  if (/^\??\.$|^\($/.test(next)) return false;
  const before = text(index - 1) === "readonly" ? index - 2 : index - 1;
  if (/^(?:as|satisfies|extends|implements|keyof|[<|&])$/.test(text(before))) return true;
  if (text(before) === "=") return text(before - 2) === "type";
  if (text(before) !== ":") return false;
  const named = text(before - 1) === "?" ? before - 2 : before - 1;
  // The type of what a function returns; after a condition a value follows.
  if (text(named) === ")") return /^(?:\{|=>|[[|&;])$/.test(next);
  if (/^(?:const|let|var|private|public|protected|readonly)$/.test(text(named - 1))) return true;
  // In braces, an object has values and commas.
  return innermost(tokens, index) === "(" || /^[;[|&]$/.test(next);
}

/** Returns the bracket that is open in front of a token. */
function innermost(tokens: readonly Token[], index: number): string {
  const { depth } = tokens[index]!;
  for (let at = index - 1; at >= 0; at -= 1) {
    if (tokens[at]!.depth === depth - 1) return /^[([{]$/.test(tokens[at]!.text) ? tokens[at]!.text : "";
  }
  return "";
}
