import type { FaultMessage } from "../wire/messages.ts";
import { type Token, tokensOf } from "./scan-tokens.ts";

/** A longer text is not looked at, because other runs of the guest wait meanwhile. */
const MAX_CHARACTERS = 32 * 1024;
const NO_MODULE = /^there is no module "((?:\.\.?\/|npm:|@)?[\w./@-]{1,100})"/;
/** The most names of one import that are looked at. */
const MAX_NAMES = 20;

/** Returns the hint for an import of a module that is missing, if the text uses its names as types only. Never throws. */
export function typeImportHint(text: string, { code, error }: FaultMessage): string | undefined {
  try {
    if (code !== "module_missing" || !error || text.length > MAX_CHARACTERS) return undefined;
    const module = NO_MODULE.exec(error.message)?.[1];
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
  } catch {
    // A task has replaced a method of texts or patterns.
    return undefined;
  }
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
