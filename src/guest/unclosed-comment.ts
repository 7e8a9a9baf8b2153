import { scanTokens, type Token } from "./scan-tokens.ts";
import type { SyntaxFailure } from "./syntax.ts";

/** The places that are tried. A text may have the two characters in it, too. */
const MAX_PLACES = 3;
/** The messages of the parsers, of which neither has the place. */
const MESSAGES = /^(?:Invalid or unexpected token|Unexpected end of input|Unterminated block comment)/;

/** Returns the failure with the place of the comment that has no end, if there is one; otherwise the same failure. */
export function atComment(text: string, failure: SyntaxFailure): SyntaxFailure {
  const { message, position } = failure;
  if (!position || !MESSAGES.test(message)) return failure;
  const end = text.lastIndexOf("*/");
  let at = text.indexOf("/*", end === -1 ? 0 : end + 2);
  for (let place = 0; place < MAX_PLACES && at !== -1; place += 1) {
    // The scan reads `/*` as two marks only where a comment would begin.
    const { tokens, isWhole } = scanTokens(text.slice(0, at + 2));
    const [slash, star] = tokens.slice(-2);
    if (isWhole && slash?.at === at && star?.at === at + 1 && star.kind === "mark" && !isInText(tokens)) {
      const before = text.slice(0, at).split("\n");
      const [line, column] = [before.length, before.at(-1)!.length + 1];
      const isThere =
        position.line > line || (position.line === line && (position.column === 1 || position.column >= column));
      return isThere ? { message, position: { line, column } } : failure;
    }
    at = text.indexOf("/*", at + 2);
  }
  return failure;
}

/** Whether the last line has a quote without an end, as in front of `/*` in a text. */
function isInText(tokens: readonly Token[]): boolean {
  for (let index = tokens.length - 1; index >= 0; index -= 1) {
    const { kind, text, startsLine } = tokens[index]!;
    if (kind === "mark" && /^["']$/.test(text)) return true;
    if (startsLine) return false;
  }
  return false;
}
