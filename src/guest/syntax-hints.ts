import { BUNDLE_HINT } from "./error-hints.ts";
import type { CodeFault } from "./faults.ts";
import { offsetOf, type SyntaxFailure, syntaxFault } from "./syntax.ts";

/** Matches an opening tag in a position where an expression is expected. */
const TAG = /(?:[(=?:,[]|=>|&&|\|\||\breturn|\bdefault)\s*(<(?:>|[A-Za-z][\w.]*(?=[\s/>])))/;

/**
 * Makes the fault of a text that does not parse. For frequent mistakes, the fault names the mistake and has a hint.
 *
 * @param failure The failure to report.
 * @param other The failure of the other parser, JavaScript or TypeScript.
 */
export function explainedFault(text: string, failure: SyntaxFailure, other: SyntaxFailure = failure): CodeFault {
  if (/^\s*(?:```|~~~)/m.test(text)) {
    const hint = "Send only the text between the Markdown fences.";
    return syntaxFault(text, failure, hint);
  }
  const jsx = tagBefore(text, failure) ?? tagBefore(text, other);
  if (jsx !== null) {
    return syntaxFault(text, { message: "JSX is not JavaScript", position: positionOf(text, jsx) }, BUNDLE_HINT);
  }
  if (failure.message.startsWith("Cannot use import statement")) {
    const message = "this import is not valid JavaScript here";
    const hint =
      'Write `import name from "module"` outside of functions, or `await import("module")` inside of a function.';
    return syntaxFault(text, { ...failure, message }, hint);
  }
  return characterFault(text, failure);
}

/** Makes the fault for a text that fails at a decorator, a typographic or invisible character, or an HTML entity. */
function characterFault(text: string, failure: SyntaxFailure): CodeFault {
  const rest = failure.position ? text.slice(offsetOf(text, failure.position)) : "";
  const character = rest.charAt(0);
  if (character === "@") {
    return syntaxFault(text, { ...failure, message: "decorators are not JavaScript yet" }, BUNDLE_HINT);
  }
  if (/^[\u201c\u201d\u201e\u2018\u2019\u201a]/.test(rest)) {
    return syntaxFault(text, failure, "Write straight quotes instead of typographic quotes.");
  }
  if (/^[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064]/.test(rest)) {
    const code = character.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0");
    return syntaxFault(text, failure, `Delete the invisible character U+${code}.`);
  }
  if (/^&(?:gt|lt|amp|quot|apos|nbsp|#\d+);/.test(rest)) {
    return syntaxFault(text, failure, "Send the original text: here HTML entities replace <, >, & or quotes.");
  }
  if (/^\s*<script\b/i.test(text)) {
    return syntaxFault(text, failure, "Send only the text between the tags.");
  }
  return syntaxFault(text, failure);
}

/** Returns the offset of the JSX element at which a parser stopped. No parser gets past the first closed element. */
function tagBefore(text: string, { position }: SyntaxFailure): number | null {
  if (!position) return null;
  const at = offsetOf(text, position);
  const tags = new RegExp(TAG, "g");
  for (let match = tags.exec(text); match; match = tags.exec(text)) {
    const start = tags.lastIndex - match[1]!.length;
    if (start > at) return null;
    const closing = /<\/|\/>/g;
    closing.lastIndex = start;
    if (closing.test(text) && at <= closing.lastIndex) return start;
  }
  return null;
}

function positionOf(text: string, offset: number): { line: number; column: number } {
  const before = text.slice(0, offset).split("\n");
  return { line: before.length, column: before.at(-1)!.length + 1 };
}
