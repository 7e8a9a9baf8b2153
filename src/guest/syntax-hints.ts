import { BUNDLE_HINT } from "./error-hints.ts";
import type { CodeFault } from "./faults.ts";
import { offsetOf, type SyntaxFailure, syntaxFault } from "./syntax.ts";

/** An opening tag where a value is expected. */
const TAG = /(?:[(=?:,[]|=>|&&|\|\||\breturn|\bdefault)\s*(<(?:>|[A-Za-z][\w.]*(?=[\s/>])))/;

/**
 * The fault of a text that does not parse. Of what is often sent and never parses it says what it is, and what helps.
 *
 * @param failure What is told of the rest.
 * @param other Where the other kind of parser stopped.
 */
export function explainedFault(text: string, failure: SyntaxFailure, other: SyntaxFailure = failure): CodeFault {
  if (/^\s*(?:```|~~~)/m.test(text)) {
    const hint = "Send what stands between the Markdown fences, without them and what is around them.";
    return syntaxFault(text, failure, hint);
  }
  const jsx = tagBefore(text, failure) ?? tagBefore(text, other);
  if (jsx !== null) {
    return syntaxFault(text, { message: "JSX is not JavaScript", position: placeOf(text, jsx) }, BUNDLE_HINT);
  }
  if (failure.message.startsWith("Cannot use import statement")) {
    const message = "this import is none that JavaScript knows at this place";
    const hint =
      'Imports are written `import name from "module"`, outside of functions; within, `await import("module")`.';
    return syntaxFault(text, { ...failure, message }, hint);
  }
  return ofCharacter(text, failure);
}

/** Of a character that no keyboard has, or that another form of text stands for. */
function ofCharacter(text: string, failure: SyntaxFailure): CodeFault {
  const rest = failure.position ? text.slice(offsetOf(text, failure.position)) : "";
  const character = rest.charAt(0);
  if (character === "@") {
    return syntaxFault(text, { ...failure, message: "decorators are not JavaScript yet" }, BUNDLE_HINT);
  }
  if (/^[\u201c\u201d\u201e\u2018\u2019\u201a]/.test(rest)) {
    return syntaxFault(text, failure, "Write straight quotes, as on a keyboard, in place of typographic ones.");
  }
  if (/^[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064]/.test(rest)) {
    const code = character.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0");
    return syntaxFault(text, failure, `There is a character that cannot be seen, U+${code}: delete it.`);
  }
  if (/^&(?:gt|lt|amp|quot|apos|nbsp|#\d+);/.test(rest)) {
    return syntaxFault(text, failure, "Send the text itself, in which HTML has not replaced <, >, & and quotes.");
  }
  if (/^\s*<script\b/i.test(text)) {
    return syntaxFault(text, failure, "Send what stands between the tags, without them.");
  }
  return syntaxFault(text, failure);
}

/** Where the tag begins at whose element a parser stopped: none goes on behind the first that is closed. */
function tagBefore(text: string, { position: place }: SyntaxFailure): number | null {
  if (!place) return null;
  const at = offsetOf(text, place);
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

function placeOf(text: string, offset: number): { line: number; column: number } {
  const before = text.slice(0, offset).split("\n");
  return { line: before.length, column: before.at(-1)!.length + 1 };
}
