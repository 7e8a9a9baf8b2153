import { absentText } from "../wire/absent-text.ts";
import type { FaultMessage } from "../wire/messages.ts";
import type { Emptied } from "./emptied.ts";
import { nearName } from "./near-name.ts";
import type { Run } from "./run.ts";

/** A read or a write of a member of something that is not there. */
const OF_UNDEFINED = /^Cannot (?:read|set) properties of undefined \((?:reading|setting) '([\w$]{1,64})'\)/;
/** Members that a context does not have, and what the code probably needs instead. */
const NO_MEMBERS: readonly { names: string; hint: string }[] = [
  {
    names: "storage|store|kv|cache|db",
    hint: "A context has no storage: keep lasting data in an external service with fetch. Variables of a module last while the guest is warm.",
  },
  {
    names: "input|inputs|payload|event|args|arguments|request|req|variables|json",
    hint: "A context has context.data for the query and the members of the body, context.body for a parsed body, context.query and context.headers.",
  },
  { names: "env|environment|config|vars|settings", hint: "Use context.params and context.secrets." },
];

/**
 * Returns the hint for code that threw because it used a member of the context that is not there. The text of the code shows
 * which. Never throws.
 */
export function contextHint(text: string, { code, error }: FaultMessage): string | undefined {
  try {
    if (code !== "task_threw" || error?.name !== "TypeError") return undefined;
    const member = OF_UNDEFINED.exec(error.message)?.[1]?.replaceAll("$", "\\$");
    if (member === undefined) return undefined;
    const read = String.raw`\s*(?:\.\s*${member}(?![\w$])|\[\s*["']${member}["'])`;
    const kept = new RegExp(String.raw`\.(secrets|params)\.([A-Za-z_]\w{0,63})${read}`).exec(text);
    if (kept) return absentText(kept[1] as "secrets" | "params", kept[2]!);
    for (let index = 0; index < NO_MEMBERS.length; index += 1) {
      const { names, hint } = NO_MEMBERS[index]!;
      if (new RegExp(String.raw`\b(?:context|ctx)\.(?:${names})${read}`).test(text)) return hint;
    }
    return undefined;
  } catch {
    // A task has replaced a method of texts or patterns.
    return undefined;
  }
}

/** The members of a context, and of every object. */
export const CONTEXT_NAMES: RegExp =
  /^(?:runId|container|method|url|query|headers|traceparent|body|params|secrets|data|signal|waitUntil|constructor|toString|valueOf|hasOwnProperty)$/;

/** What a context has for code, the most used first. */
const PARTS = "data body query headers params secrets method url signal container".split(" ");
/** The first parameter of a function that is the code: a name, or the names between braces. */
const PARAMETER =
  /(?:^\s*|\bexport\s+default\s+|\bmodule\.exports\s*=\s*)(?:async\s+)?(?:([A-Za-z_$][\w$]*)\s*=>|(?:function\b(?:\s{1,20}\w{1,64})?\s{0,20})?\(\s*(?:([A-Za-z_$][\w$]*)|\{([\s\w$,]{1,300})\})\s*[,):])/;

/**
 * Returns the hint for an expression that is undefined because it is a member that no context has: `c.secret` in a function whose
 * first parameter is `c`, or `request` in a function of `{ request }`.
 */
export function noMemberHint(text: string, expression: string): string | undefined {
  const [, bare, named, parts] = PARAMETER.exec(text) ?? [];
  const [, of, name] = /^([A-Za-z_$][\w$]*)(?:\.([A-Za-z_$][\w$]*))?$/.exec(expression) ?? [];
  if (of === undefined) return undefined;
  const isPart = name === undefined && parts !== undefined && parts.split(",").some((each) => each.trim() === of);
  const missing = isPart ? of : of === (bare ?? named) ? name : undefined;
  if (missing === undefined || CONTEXT_NAMES.test(missing)) return undefined;
  const near = nearName(missing, PARTS);
  const has =
    near === null
      ? "it has data (the query and the members of the body), body, query, headers, params and secrets."
      : `did you mean ${near}?`;
  return `The context has no ${missing}: ${has}`;
}

/** A longer text is not looked at, because other runs of the guest wait meanwhile. */
const MAX_CHARACTERS = 32 * 1024;

/**
 * Returns the name of the context if the text uses it like a text or a number: `"hello " + name` in a function whose first parameter is
 * `name`. Otherwise null. Never throws.
 */
export function contextAsValue(text: string, isFunction: boolean): string | null {
  try {
    if (text.length > MAX_CHARACTERS) return null;
    const [, bare, named] = isFunction ? (PARAMETER.exec(text) ?? []) : [];
    const name = isFunction ? (bare ?? named) : "context";
    if (name === undefined || name.length > MAX_NAME) return null;
    const own = name.replaceAll("$", "\\$");
    const isUsed = new RegExp(
      String.raw`\$\{\s*${own}\s*\}|[+\-*/%]\s*${own}(?![\w$.[(?]|\s*=>)|(?<![\w$.])${own}\s*[+\-*/%](?![+\-]|\s*[*/])`,
    ).test(text);
    return isUsed ? name : null;
  } catch {
    // A task has replaced a method of texts or patterns.
    return null;
  }
}

/** A longer name is not one of a hint. */
const MAX_NAME = 64;

interface ReadMember {
  readonly of: string;
  readonly name: string;
}

/** Whether a text reads a member that each context has, although it may be undefined, such as the body. */
export function isOfContext({ of, name }: ReadMember): boolean {
  return /^(?:context|ctx)$/.test(of) && CONTEXT_NAMES.test(name);
}

/**
 * Returns the hint for a member at the end of a text that is undefined, because a context does not have it, or because the body that
 * should have it is a text; otherwise null.
 *
 * @param of the expression in front of the member; it begins with the context
 */
export function contextMember({ of, name }: ReadMember, run: Run): Emptied | null {
  if (/^\w+$/.test(of)) return CONTEXT_NAMES.test(name) ? null : { hint: "contextMember", path: `.${name}` };
  const part = /^\w+\??\.(body|data)$/.exec(of)?.[1];
  const { body } = run.request();
  if (part === undefined || typeof body !== "string") return null;
  // Only a text of JSON has members that may be meant by context.data.
  if (part === "data" && !/^\s*[{[]/.test(body)) return null;
  return { hint: "textBody", path: `.${part}.${name}` };
}
