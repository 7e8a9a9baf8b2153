/** The beginning of a body in which a fault is looked at. */
const MAX_SEARCHED = 64 * 1024;
const PLACE = /at line (\d+), column (\d+)$/;

/**
 * Returns a sentence on what JSON does not permit and JavaScript does, or an empty text. It does not quote the body.
 *
 * @param fault as of `checkJson`, with the place of the fault
 */
export function jsonMistake(fault: string, body: Buffer): string {
  const [, line, column] = PLACE.exec(fault) ?? [];
  if (line === undefined || body.length > MAX_SEARCHED) return "";
  const text = body.toString().split("\n")[Number(line) - 1] ?? "";
  const rest = text.slice(Number(column) - 1);
  const isName = fault.includes("a member name in double quotes");
  if (/^(?:\/[/*]|#)/.test(rest)) return "JSON has no comments. ";
  if (isName && !fault.includes(" or }") && rest.startsWith("}")) return "JSON has no comma before a }. ";
  if (fault.includes("a value is expected") && rest.startsWith("]")) return "JSON has no comma before a ]. ";
  if (fault.includes("a comma or") && endsText(text.slice(0, Number(column) - 1), rest)) {
    return 'A double quote inside of a text is written \\". ';
  }
  if (fault.includes("an unescaped line break") && rest.startsWith("\\")) return escapeMistake(rest[1] ?? "");
  if (fault.includes("an unescaped line break") && rest === "")
    return "In JSON, a line break in a text is written \\n. ";
  if (/^undefined\b/.test(rest)) return "JSON has no undefined: leave the member out, or write null. ";
  if (!(isName ? /^['`\w$]/ : /^['`]/).test(rest)) return "";
  return "JSON has names and texts in double quotes only; in a shell, put the whole JSON in single quotes. ";
}

/** A shell leaves these backslashes in a text in single quotes. JSON permits none of them. */
function escapeMistake(character: string): string {
  if (/[`$'!]/.test(character)) return `JSON has no escape \\${character}: remove the backslash. `;
  return "JSON has no such escape: a backslash of the code is written \\\\. ";
}

/** Whether a quote inside of a text has ended it: what follows is neither JSON nor a member after a missing comma. */
function endsText(before: string, rest: string): boolean {
  return (before.endsWith('"') && /^[^\s,:}\]]/.test(rest)) || (/"\s+$/.test(before) && /^[\w(+.]/.test(rest));
}
