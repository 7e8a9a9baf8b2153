import type { FaultMessage } from "../wire/messages.ts";
import { quotedText } from "../wire/quoted-text.ts";
import type { Emptied } from "./emptied.ts";
import type { Run } from "./run.ts";
import { type Token, tokensOf } from "./scan-tokens.ts";

/** A longer text is not looked at, because other runs of the guest wait meanwhile. */
const MAX_CHARACTERS = 32 * 1024;
/** A longer result is not looked at. */
export const MAX_SHOWN: number = 16 * 1024;
/** The texts in quotes of one code that are looked at. */
const MAX_TEXTS = 20;
const EXPRESSION = /\$\{([A-Za-z_$][\w$]{0,40}(?:\.[A-Za-z_$][\w$]{0,40}){0,3})\}/;
/** Words of code that fills in this kind of text itself, or that makes code. */
const FILLS = /replace|[tT]emplate|[iI]nterpolat|[cC]ompile|[rR]ender|\beval\b|\bFunction\b|\\\$/;
const { stringify } = JSON;

const QUOTED: Emptied = { hint: "quotedTemplate", path: "" };

/** A text in quotes with an expression. */
interface Place {
  readonly content: string;
  /** The names of the expression, such as `user.name`. */
  readonly names: string;
}

/** The places of the last text: each run of a code may look for them. */
let last: { readonly text: string; readonly places: readonly Place[] } | null = null;

/** Reports a hint if a result has the text of an expression that the code has in quotes. Returns whether it does. Never throws. */
export function reportQuoted(run: Run, shown: string): boolean {
  const hint = hasExpression(shown) ? run.code.betterHint(QUOTED, shown, run) : null;
  if (hint) run.reportHint(hint.hint, hint.path);
  return hint !== null;
}

/** Returns the hint for an error whose message has the text of an expression. Never throws. */
export function quotedHint(text: string, { code, error }: FaultMessage): string | undefined {
  if (code !== "task_threw" || !error || !hasExpression(error.message)) return undefined;
  const names = quotedTemplate(text, error.message);
  return names === null ? undefined : quotedText(names);
}

/**
 * Returns the names of an expression in a text in quotes of the code, if `shown` has the text; otherwise null. Never throws.
 *
 * @param shown a result, or its JSON, or the message of an error
 */
export function quotedTemplate(text: string, shown: string): string | null {
  try {
    if (text.length > MAX_CHARACTERS || !EXPRESSION.test(shown)) return null;
    if (last?.text !== text) last = { text, places: placesIn(text) };
    const found = last.places.find(
      ({ content }) => shown.includes(content) || shown.includes(stringify(content).slice(1, -1)),
    );
    return found?.names ?? null;
  } catch {
    // A task has replaced a method of texts or patterns.
    return null;
  }
}

function hasExpression(shown: string): boolean {
  try {
    return shown.length <= MAX_SHOWN && shown.includes("${");
  } catch {
    return false;
  }
}

function placesIn(text: string): Place[] {
  const tokens = FILLS.test(text) ? [] : (tokensOf(text) ?? []);
  const places: Place[] = [];
  for (let index = 0; index < tokens.length && places.length < MAX_TEXTS; index += 1) {
    const { kind, text: token } = tokens[index]!;
    const names = kind === "value" && /^["']/.test(token) ? EXPRESSION.exec(token)?.[1] : undefined;
    if (names !== undefined) places[places.length] = { content: token.slice(1, -1), names };
  }
  return places.filter(({ names }) => hasName(tokens, names.split(".")[0]!));
}

/** Whether the code has a variable or a parameter of this name. */
function hasName(tokens: readonly Token[], name: string): boolean {
  const opening: string[] = [];
  return tokens.some(({ kind, text, depth }, index) => {
    if (kind === "mark") opening[depth] = text;
    if (kind !== "word" || text !== name || tokens[index - 1]?.text === ".") return false;
    // In braces, a colon follows the name of a member; in parentheses, it follows a parameter.
    return tokens[index + 1]?.text !== ":" || opening[depth - 1] === "(";
  });
}
