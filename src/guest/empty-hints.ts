import type { ResultHint } from "../wire/result-hints.ts";
import { type CollectionMember, collectionMember } from "./collection-member.ts";
import { returnsInForEach } from "./for-each-return.ts";
import { hasLostLines } from "./grammar-hints.ts";
import { isFilledLate } from "./late-callback.ts";
import { missingOfBody } from "./missing-return.ts";
import { type Misspelt, misspeltRead } from "./misspelt.ts";
import { SILENT_CALLBACK } from "./promise-hints.ts";
import { type PromiseUse, promiseUse } from "./promise-uses.ts";
import { type ResponseMember, responseMember } from "./response-member.ts";
import { type SilentCall, silentCall, silentFunction } from "./silent-call.ts";
import { readsStdin } from "./stdin-hints.ts";
import { type UnawaitedMember, unawaitedMember } from "./unawaited.ts";
import { type Declared, lastDeclared, printedLine } from "./unreturned.ts";
import { hasLateCallback, usedPromise } from "./used-promise.ts";
import { withoutTexts } from "./without-texts.ts";

/** A longer text is not looked at, because other runs of the guest wait meanwhile. */
const MAX_CHARACTERS = 32 * 1024;
const FOR_EACH = /\.forEach\(\s*async\b/;
const FOR_EACH_VALUE = /\breturn\s+[^;\n{}]{0,200}\.forEach\(/;
/** A variable that is given the value of forEach. */
const FOR_EACH_HELD = /\b(?:const|let|var)\s+([A-Za-z_$][\w$]{0,63})\s*=\s*[^;\n{}=]{0,200}\.forEach\(/;
/** An answer that is set as in Koa, or as in a function of Azure. */
const ASSIGNED =
  /\b(?:context|ctx)\.(?:body|status|res|response)\s*=(?![=>])(?!\s*(?:await\s+)?(?:JSON\.parse|[\w$.]*\.body\b))/;
/** Bundles read NODE_ENV and do without it. */
const ENVIRONMENT = /\bprocess\.env(?:\.(?!NODE_ENV\b)[A-Za-z_]|\[["'])/;

const SECRETS = /\bsecrets\s*(?:\.\s*[A-Za-z_]|\[\s*["'])/;
const ARGUMENTS = /\bprocess\s*\.\s*argv\b/;
/** The end of a text that returns a member: `return order.total;`, `(context) => context.body.name`, `[1, 2].length`. */
const MEMBER =
  /(?:\breturn\s+|=>\s*|^\s*)((?:[A-Za-z_$][\w$]*|"[^"\n]*"|'[^'\n]*'|\[[^[\]\n]{0,80}\]|\((?:[^()\n]|\([^()\n]{0,80}\)){0,80}\))(?:\??\.[A-Za-z_$][\w$]*|\[[^\]\n]{0,40}\]|\([^()\n]{0,80}\))*)\??\.([A-Za-z_$][\w$]{0,63})\s*;?\s*\}?\s*;?\s*$/;
const MAX_END = 500;
/** A variable of the code that is called like the context is another value. */
const OWN_CONTEXT = /\b(?:const|let|var|function|class)\s+(?:context|ctx)\b/;

/** After `if (...)` and `else`, what follows the line runs. At a closing brace nothing follows, and functions are declared before. */
const LONE_RETURN =
  /(?:^\s*|[{;][ \t]*|(?<=[^\s)])(?<!\belse)\s*\n[ \t]*)return[ \t]*\r?\n\s*(?!\/[/*]|(?:case|default|function|async|class)\b)[^\s}]/;

/** A test of the items of a list that has braces and no return. */
const SILENT_TEST =
  /\.(?:filter|find|findIndex|findLast)\(\s*(?:\([^()]{0,80}\)|[\w$]+)\s*=>\s*\{(?![^{}]*\b(?:return|throw)\b)[^{}]*\}\s*\)/;

/** A method of a Response that is awaited like a value. */
const UNCALLED = /\bawait\s+[\w$.]{1,64}\.(json|text|blob|arrayBuffer|formData)[ \t]*(?:[;)]|\r?\n\s*(?![(\s])|$)/;
/** A comment that hides a statement. */
const HIDDEN = /\/\/.*(?:\b(?:return|const|let|var|await|export)\b|=>)/;

/** What a text is likely to have meant if its result is empty. */
export interface EmptyHints {
  /** For null or nothing. */
  readonly nothing: ResultHint | null;
  /** For 0 and for a list or an object without members. */
  readonly empty: ResultHint | null;
  /** The member that the text returns at its end; null if it returns none. */
  readonly member: { readonly of: string; readonly name: string; readonly ofContext: boolean } | null;
  /** A member of a promise that the text reads without `await`. */
  readonly unawaited: UnawaitedMember | null;
  /** An async function whose promise the text uses like a value. */
  readonly usedPromise: string | null;
  /** A promise that the text uses like its value in any other way. */
  readonly promiseUse: PromiseUse | null;
  /** A member that the text reads of the Response of `fetch`, and that no Response has. */
  readonly responseMember: ResponseMember | null;
  /** Whether a callback of the text probably runs after the result. */
  readonly hasLateCallback: boolean;
  /** Whether the text returns a variable that only a callback fills, which runs after the result. */
  readonly isFilledLate: () => boolean;
  /** Whether the text returns a value in the function that it gives to forEach. */
  readonly returnsInForEach: () => boolean;
  /** A member that the text reads of a Map or a Set, and that neither has. */
  readonly collectionMember: CollectionMember | null;
  /** The line of a call of `console` that ends the text. */
  readonly printed: () => number | null;
  /** Whether the text, as a body, returns a value on some paths only. */
  readonly missing: () => "noReturn" | "noReturnPath" | null;
  /** The declaration that ends the text. */
  readonly declared: () => Declared | null;
  /** The method of a Response that the text awaits, and does not call. */
  readonly uncalled: string | null;
  /** The call that ends the text, if its function is in the text and returns no value. */
  readonly silentCall: () => SilentCall | null;
  /** A function that returns no value although it ends with one, and whose call the text uses as a value. */
  readonly silentFunction: () => SilentCall | null;
  /** The member that is read once, and whose name probably is a misspelling. */
  readonly misspelt: () => Misspelt | null;
  /** Whether the text joins texts and values, and does not have the word undefined itself. */
  readonly joinsTexts: boolean;
  /** Whether the text probably lost its line breaks, so that a comment hides the rest. */
  readonly hasLostLines: boolean;
  /** Whether a line ends after `return`, and what follows it cannot run, so it probably is the value. */
  readonly hasLoneReturn: boolean;
}

/** An envelope in YAML, which is a label as JavaScript. Loops and blocks have labels. */
const YAML = /^\s*(?:---\s{1,20})?code[ \t]*:(?!\s*(?:for|while|do|switch)\b|\s*\{)/;

function nothingOf(text: string): ResultHint | null {
  if (YAML.test(text)) return "yaml";
  if (ENVIRONMENT.test(text)) return "environment";
  if (SECRETS.test(text)) return "secret";
  if (readsStdin(text)) return "stdin";
  if (ARGUMENTS.test(text) && ARGUMENTS.test(withoutTexts(text))) return "argv";
  if (ASSIGNED.test(text) && !OWN_CONTEXT.test(text)) return "assigned";
  if (FOR_EACH.test(text)) return "forEach";
  if (SILENT_CALLBACK.test(text) || SILENT_TEST.test(text)) return "arrow";
  return isForEachValue(text) ? "forEachValue" : null;
}

function emptyOf(text: string): ResultHint | null {
  if (FOR_EACH.test(text)) return "forEach";
  if (SILENT_TEST.test(text)) return "arrow";
  return FOR_EACH_HELD.test(text) && isForEachValue(text) ? "forEachValue" : null;
}

/** Whether a text returns what forEach returns, perhaps by a variable. */
function isForEachValue(text: string): boolean {
  if (FOR_EACH_VALUE.test(text)) return true;
  const held = FOR_EACH_HELD.exec(text)?.[1]?.replaceAll("$", "\\$");
  return held !== undefined && new RegExp(String.raw`\breturn\b[^;\n]{0,200}(?<![\w$.])${held}(?![\w$])`).test(text);
}

const NONE: EmptyHints = {
  nothing: null,
  empty: null,
  member: null,
  unawaited: null,
  usedPromise: null,
  promiseUse: null,
  responseMember: null,
  hasLateCallback: false,
  isFilledLate: () => false,
  returnsInForEach: () => false,
  collectionMember: null,
  printed: () => null,
  missing: () => null,
  declared: () => null,
  uncalled: null,
  silentCall: () => null,
  silentFunction: () => null,
  misspelt: () => null,
  joinsTexts: false,
  hasLostLines: false,
  hasLoneReturn: false,
};

/** Returns the hints of a text for empty results. Never throws. */
export function emptyHintsOf(text: string): EmptyHints {
  try {
    if (text.length > MAX_CHARACTERS) return NONE;
    let line: number | null | undefined;
    let missing: "noReturn" | "noReturnPath" | null | undefined;
    let last: Declared | null | undefined;
    let silent: SilentCall | null | undefined;
    let silentUsed: SilentCall | null | undefined;
    let misspelt: Misspelt | null | undefined;
    let filledLate: boolean | undefined;
    let inForEach: boolean | undefined;
    return {
      nothing: nothingOf(text),
      empty: emptyOf(text),
      member: memberOf(text),
      unawaited: unawaitedMember(text),
      usedPromise: usedPromise(text),
      promiseUse: promiseUse(text),
      responseMember: responseMember(text),
      hasLateCallback: hasLateCallback(text),
      isFilledLate: () => (filledLate === undefined ? (filledLate = isFilledLate(text)) : filledLate),
      returnsInForEach: () => (inForEach === undefined ? (inForEach = returnsInForEach(text)) : inForEach),
      collectionMember: collectionMember(text),
      printed: () => (line === undefined ? (line = printedLine(text)) : line),
      missing: () => (missing === undefined ? (missing = missingOfBody(text)) : missing),
      declared: () => (last === undefined ? (last = lastDeclared(text)) : last),
      uncalled: UNCALLED.exec(text)?.[1] ?? null,
      silentCall: () => (silent === undefined ? (silent = silentCall(text)) : silent),
      silentFunction: () => (silentUsed === undefined ? (silentUsed = silentFunction(text)) : silentUsed),
      misspelt: () => (misspelt === undefined ? (misspelt = misspeltRead(text)) : misspelt),
      joinsTexts: /\$\{|["'`]\s*\+|\+\s*["'`]/.test(text) && !/undefined|\bcatch\b|\bfetch\b|\bmessage\b/.test(text),
      hasLostLines: HIDDEN.test(text) && hasLostLines(text),
      hasLoneReturn: LONE_RETURN.test(text),
    };
  } catch {
    // A task has replaced a method of patterns.
    return NONE;
  }
}

/** The end of a text that returns a variable. */
const RETURNED = /(?:\breturn\s+|=>\s*)([A-Za-z_$][\w$]{0,63})\s*;?\s*\}?\s*;?\s*$/;
/** Members of the context that become variables: `const { n } = context`, or the first parameter of a function that is the code. */
const PARTS =
  /\{([^{}]{1,300})\}\s*=\s*(?:context|ctx)\s*(?:[;,\n]|$)|^\s*(?:export\s+default\s+|module\.exports\s*=\s*)?(?:async\s*)?(?:function\s*\w*\s*)?\(\s*\{([^{}]{1,300})\}\s*\)/;

/** Returns the member of the context that a text returns as a variable, or null. */
function partOf(text: string): EmptyHints["member"] {
  const name = RETURNED.exec(text.slice(-MAX_END))?.[1];
  const parts = name === undefined ? null : PARTS.exec(text);
  const names = (parts?.[1] ?? parts?.[2] ?? "").split(",");
  if (name === undefined || !names.some((each) => each.trim() === name) || OWN_CONTEXT.test(text)) return null;
  return { of: "context", name, ofContext: true };
}

function memberOf(text: string): EmptyHints["member"] {
  const [, of, name] = MEMBER.exec(text.length > MAX_END ? `;${text.slice(-MAX_END)}` : text) ?? [];
  if (of === undefined || name === undefined) return partOf(text);
  return { of, name, ofContext: /^(?:context|ctx)(?:\??\.|$)/.test(of) && !OWN_CONTEXT.test(text) };
}
