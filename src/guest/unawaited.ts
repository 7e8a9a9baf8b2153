import { withoutTexts } from "./without-texts.ts";

/** A member of a promise that a text reads without `await`: `r.status` after `const r = fetch(url)`. */
export interface UnawaitedMember {
  /** The name of the variable that holds the promise; that of the function if none holds it. */
  readonly variable: string;
  readonly member: string;
  /** The name of the function whose call makes the promise. */
  readonly call: string;
}

/** A variable that holds what a call returned, without `await`. The call is that of a name, or of a method. */
const HELD =
  /\b(?:const|let|var)\s+([A-Za-z_$][\w$]{0,63})\s*(?::[^=;\n]{1,80})?=\s*(?:([A-Za-z_$][\w$]{0,63})\s*\.\s*)?([A-Za-z_$][\w$]{0,63})\s*\(/g;
/** A member of what a call returned: `fetch(url).status`, `load().length`. */
const READ_OF_CALL =
  /(?<![\w$.])([A-Za-z_$][\w$]{0,63})\((?:[^()\n"'`]|"[^"\n]*"|'[^'\n]*'|`[^`\n]*`){0,400}\)\s*\.\s*(?!(?:then|catch|finally)\b)([A-Za-z_$][\w$]{0,63})(?!\s*\(|[\w$])/g;
/** The declarations that are looked at. Each takes a search of the whole text. */
const MAX_VARIABLES = 20;
/** Methods of a Response that return promises. */
const READS = /^(?:json|text|blob|arrayBuffer|formData|bytes)$/;
/** The members of a promise. */
const OF_PROMISE = /^(?:then|catch|finally|constructor|toString|valueOf|hasOwnProperty)$/;

/**
 * Finds a variable that holds the promise of `fetch`, of an async function of the text, or of a method such as `json` of an awaited
 * `fetch`, and of which the text reads a member that a promise does not have. The text uses the variable in no other way.
 */
export function unawaitedMember(source: string): UnawaitedMember | null {
  const text = withoutTexts(source);
  const ofCall = memberOfCall(text) ?? memberOfBody(text);
  if (ofCall) return ofCall;
  const held = new RegExp(HELD.source, "g");
  let left = MAX_VARIABLES;
  for (let found = held.exec(text); found && left > 0; found = held.exec(text)) {
    left -= 1;
    const [, variable, owner, call] = found;
    const isPromise = owner === undefined ? isAsync(text, call!) : READS.test(call!) && isResponse(text, owner);
    const member = isPromise ? memberRead(text, variable!) : null;
    if (member !== null)
      return { variable: variable!, member, call: owner === undefined ? call! : `${owner}.${call!}` };
  }
  return partOfPromise(text);
}

function memberOfCall(text: string): UnawaitedMember | null {
  const reads = new RegExp(READ_OF_CALL.source, "g");
  let left = MAX_VARIABLES;
  for (let found = reads.exec(text); found && left > 0; found = reads.exec(text)) {
    left -= 1;
    const call = found[1]!;
    const member = found[2]!;
    if (!OF_PROMISE.test(member) && isAsync(text, call)) return { variable: call, member, call };
  }
  return null;
}

/** A member of the promise of a body: `(await fetch(url)).json().name`, `response.json().name`. An `await` before it awaits the member. */
const READ_OF_BODY =
  /(?:(?<![\w$])([A-Za-z_$][\w$]{0,63})|\))\s*\.\s*(json|text|blob|arrayBuffer|formData|bytes)\(\s*\)\s*\??\.\s*(?!(?:then|catch|finally)\b)([A-Za-z_$][\w$]{0,63})/g;
/** Names that are taken from the promise of a body. */
const TAKEN_OF_BODY =
  /\{\s*([A-Za-z_$][\w$]{0,63})[^{}]{0,300}\}\s*=\s*(?!await\b)(?:([A-Za-z_$][\w$]{0,63})|\(\s*await\s+fetch\b[^;\n]{0,300}\))\s*\.\s*(json|formData)\(\s*\)\s*(?:[;\n}]|$)/g;

/** The function of a body, such as json, is both the variable and the call. */
export function memberOfBody(text: string): UnawaitedMember | null {
  if (!/\bfetch\s*\(/.test(text)) return null;
  const reads = new RegExp(READ_OF_BODY.source, "g");
  let left = MAX_VARIABLES;
  for (let found = reads.exec(text); found && left > 0; found = reads.exec(text)) {
    left -= 1;
    const [, owner, call, member] = found;
    if (isBody(text, owner)) return { variable: call!, member: member!, call: call! };
  }
  const taken = new RegExp(TAKEN_OF_BODY.source, "g");
  for (let found = taken.exec(text); found && left > 0; found = taken.exec(text)) {
    left -= 1;
    const [, member, owner, call] = found;
    if (isBody(text, owner)) return { variable: call!, member: member!, call: call! };
  }
  return null;
}

/** Whether a name is that of a Response or a Request. Without a name, it is what `fetch` returned. */
function isBody(text: string, owner: string | undefined): boolean {
  if (owner === undefined) return /\(\s*await\s+fetch\s*\(/.test(text);
  return isResponse(text, owner) || /^(?:req|request|res|resp|response)$/.test(owner);
}

/** Names that are taken from what a call returned: `const { a } = load()`. */
const TAKEN = /\b(?:const|let|var)\s+\{\s*([A-Za-z_$][\w$]{0,63})\b[^{}]{0,300}\}\s*=\s*([A-Za-z_$][\w$]{0,63})\s*\(/g;

function partOfPromise(text: string): UnawaitedMember | null {
  const taken = new RegExp(TAKEN.source, "g");
  let left = MAX_VARIABLES;
  for (let found = taken.exec(text); found && left > 0; found = taken.exec(text)) {
    left -= 1;
    const member = found[1]!;
    const call = found[2]!;
    if (isAsync(text, call)) return { variable: call, member, call };
  }
  return null;
}

/** Whether a text has an async function of this name, or uses `fetch` of Node. */
export function isAsync(text: string, name: string): boolean {
  const own = escaped(name);
  const isDeclared = new RegExp(
    String.raw`\basync\s+function\s*${own}\s*\(|\b(?:const|let|var)\s+${own}\s*=\s*async\b`,
  ).test(text);
  if (name !== "fetch" || isDeclared) return isDeclared;
  // The code may have a function of this name.
  return !/\b(?:function|const|let|var|class)\s+fetch\b|\bimport\b[^;\n]*\bfetch\b|[{,(]\s*fetch\s*[,)}=]/.test(text);
}

function isResponse(text: string, name: string): boolean {
  return new RegExp(
    String.raw`\b(?:const|let|var)\s+${escaped(name)}\s*=\s*(?:await\s+fetch|new\s+Response)\s*\(`,
  ).test(text);
}

/** Returns the member of a variable that a text reads, if the text only declares the variable and reads members of it. */
function memberRead(text: string, variable: string): string | null {
  const uses = new RegExp(
    String.raw`(\b(?:const|let|var)\s+)?(?<![\w$.]|\.\s)${escaped(variable)}(?![\w$])(?:\s*\??\.\s*([A-Za-z_$][\w$]{0,63}))?`,
    "g",
  );
  let member: string | null = null;
  let declarations = 0;
  for (let use = uses.exec(text); use; use = uses.exec(text)) {
    const [, declared, read] = use;
    if (declared !== undefined) declarations += 1;
    else if (read === undefined || OF_PROMISE.test(read)) return null;
    else member ??= read;
  }
  return declarations === 1 ? member : null;
}

export function escaped(name: string): string {
  return name.replaceAll("$", "\\$");
}
