import { ENVELOPE_MEMBERS, ENVELOPE_SYNONYMS, TASK_MEMBERS } from "../wire/envelope-names.ts";
import type { Emptied } from "./emptied.ts";

/** A longer text is not parsed for a hint, because other runs of the guest wait meanwhile. */
const MAX_CHARACTERS = 64 * 1024;

const { hasOwn, keys } = Object;
const { parse } = JSON;

/** An envelope with the quotes of JavaScript, whose member is code. An object with another text in its member code may be a result. */
const NEARLY =
  /^\s*\{\s*(?:'code'|"code"|code)\s*:\s*(["'`])(?:(?!\1)[^])*(?:\breturn\s|=>)(?:(?!\1)[^])*\1\s*,?\s*\}\s*$/;
/** A longer text is not compared, because of the time. */
const MAX_NEARLY = 1_024;

/** A text in quotes that is code: it begins with a statement that no sentence begins with, or returns a value. */
const QUOTED =
  /^\s*(["'])(?=\s{0,20}(?:return\s+(?:[\d"'`([{\\]|[\w$.]{1,80}\s*[(.[+*/;-]|(?:await|new)\s)|(?:const|let|var)\s+\w+\s*=|export\s+default\s|import\s[^\n]{0,200}\sfrom\s|module\.exports|async\s+(?:function\b|\()|\(?[\w, ]{0,80}\)? {0,4}=>))(?:(?!\1)[^\\\n]|\\[^])*\1\s*$/;
/** A longer text is not compared, because of the time. */
const MAX_QUOTED = 16 * 1024;

/** Names for the code that are hardly ever members of a result. */
const OF_CODE = /"(?:code|source|script|js|program)"\s*:/;
/** A text that is code and no word, number or sentence. */
const IS_CODE = /[=;{}*+[\]]|\breturn\b|\w\(/;
/** Other members of an envelope that its author may have meant: options of runs with a record, and what other services take. */
const OTHERS: readonly string[] = [
  ...["query", "timeout", "file", "maxResult", "language", "lang", "runtime", "engine", "filename", "version"],
  ...TASK_MEMBERS,
];
const ENVELOPE: Emptied = { hint: "envelope", path: "" };

/** Returns the hint for a text that is the JSON of an envelope, or code in quotes, or null. As code, it is an expression whose value is that object. */
export function envelopeHint(text: string): Emptied | null {
  if (text.length <= MAX_NEARLY && NEARLY.test(text)) return ENVELOPE;
  if (text.length <= MAX_QUOTED && QUOTED.test(text)) return { hint: "quotedCode", path: "" };
  if (text.length > MAX_CHARACTERS || !/^\s*\{\s*"/.test(text) || !OF_CODE.test(text)) return null;
  try {
    const value = parse(text) as Record<string, unknown>;
    const names = keys(value);
    let wrong: string | null = null;
    let code: unknown;
    for (let index = 0; index < names.length; index += 1) {
      const name = names[index]!;
      const isMember = ENVELOPE_MEMBERS.includes(name);
      const meant = hasOwn(ENVELOPE_SYNONYMS, name) ? ENVELOPE_SYNONYMS[name] : undefined;
      if (!isMember && meant === undefined && !OTHERS.includes(name)) return null;
      if (name === "code" || meant === "code") code = value[name];
      if (!isMember) wrong ??= meant === undefined ? `.${name}` : `.${name}.${meant}`;
    }
    if (typeof code !== "string") return null;
    if (wrong === null) return ENVELOPE;
    return IS_CODE.test(code) ? { hint: "envelopeMember", path: wrong } : null;
  } catch {
    return null;
  }
}
