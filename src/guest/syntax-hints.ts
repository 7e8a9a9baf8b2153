import type { Loader } from "../wire/transform.ts";
import { atDash } from "./dash-names.ts";
import { BUNDLE_HINT } from "./error-hints.ts";
import type { CodeFault } from "./faults.ts";
import { grammarHint, unquotedHint } from "./grammar-hints.ts";
import { MODULE_RETURN } from "./message-hints.ts";
import { otherLanguageHint } from "./other-languages.ts";
import { offsetOf, type SyntaxFailure, syntaxFault } from "./syntax.ts";
import { atComment } from "./unclosed-comment.ts";

/** Matches an opening tag in a position where an expression is expected. It begins in the line of the tag: `\s*` would take quadratic time. */
const TAG = /(?:[(=?:,[;{}\n]|=>|&&|\|\||\breturn|\bdefault|\bawait|\byield)[^\S\n]*(<(?:>|[A-Za-z][\w.]*(?=[\s/>])))/;

/**
 * Makes the fault of a text that does not parse. For frequent mistakes, the fault names the mistake and has a hint.
 *
 * @param failure The failure to report.
 * @param other The failure of the other parser, JavaScript or TypeScript.
 */
export function explainedFault(text: string, failure: SyntaxFailure, other: SyntaxFailure = failure): CodeFault {
  if (/^[ \t]*(?:```|~~~)/m.test(text)) {
    const hint = "Send only the text between the Markdown fences.";
    return syntaxFault(text, failure, hint);
  }
  const reference = otherText(text);
  if (reference !== null) return syntaxFault(text, failure, reference);
  if (/^\s*<script\b/i.test(text)) return syntaxFault(text, failure, "Send only the text between the tags.");
  const jsx = tagBefore(text, failure) ?? tagBefore(text, other);
  if (jsx !== null) {
    const notJavaScript = { message: "JSX is not JavaScript", position: positionOf(text, jsx) };
    return withLoader("tsx", syntaxFault(text, notJavaScript, BUNDLE_HINT));
  }
  if (failure.message.startsWith("await is only valid")) {
    return syntaxFault(text, failure, "Write async before the function that contains the await.");
  }
  if (failure.message.startsWith("Cannot use import statement")) {
    const message = "this import is not valid JavaScript here";
    const hint =
      unquotedHint(text) ??
      (isImportOfTypes(text, failure) ? MODULE_RETURN : null) ??
      'Write `import name from "module"` outside of functions, or `await import("module")` inside of a function.';
    return syntaxFault(text, { ...failure, message }, hint);
  }
  return characterFault(text, atDash(text, atComment(text, failure)));
}

/** Whether the text imports types where it may, so that only its `return` keeps it from being a module. */
function isImportOfTypes(text: string, { position }: SyntaxFailure): boolean {
  return (
    position?.column === 1 && /^import\s+type\b/.test(text.slice(offsetOf(text, position))) && /\breturn\b/.test(text)
  );
}

function withLoader(loader: Loader, fault: CodeFault): CodeFault {
  fault.loader = loader;
  return fault;
}

/** A URL or the name of a file, and nothing else. */
const MAX_REFERENCE = 2_048;

/** Returns the hint for a text that is not code of these languages, or that only names code. */
function otherText(text: string): string | null {
  if (text.length > MAX_REFERENCE) return otherLanguageHint(text);
  const trimmed = text.trim();
  if (FORM.test(trimmed)) {
    return "The text is a form. Send the code itself as the body: curl does that with --data-binary @task.js.";
  }
  if (/^\[object \w{1,64}\]$/.test(trimmed)) {
    return "The text is an object that was converted to a text: send JSON.stringify({ code }) with Content-Type: application/json, or the code itself as the body.";
  }
  if (/^https?:\/\/\S+$/.test(trimmed)) return "The text is a URL. Name code by its URL as task_url in the query.";
  return fileNameHint(trimmed) ?? otherLanguageHint(text);
}

/** A form: a value with escapes, or code as the value of a member. No JavaScript begins so. */
const FORM =
  /^\w{1,64}=[^\s=]*(?:%[0-9a-f]{2}|\+)|^(?=\S*%[0-9a-f]{2}\S*$)[\w.*-]+\+\S+|^(?:code|source|script)=(?:return|const|let|var|import|export|if|for|throw)\b/i;

/** Returns the hint for a text that is the name of a file and nothing else. Many names, such as `task.js`, are expressions. Never throws. */
export function fileNameHint(text: string): string | undefined {
  try {
    if (text.length > MAX_REFERENCE || !FILE_NAME.test(text)) return undefined;
    return "The text is the name of a file. curl sends the content of a file with --data-binary @task.js.";
  } catch {
    // A task has replaced a method of patterns.
    return undefined;
  }
}

const FILE_NAME = /^\s*@?[\w./\\~-]+\.(?:[cm]?[jt]s|py)\s*$/;

/** Makes the fault for a text that fails at a decorator, a typographic or invisible character, or an HTML entity. */
function characterFault(text: string, failure: SyntaxFailure): CodeFault {
  const rest = failure.position ? text.slice(offsetOf(text, failure.position)) : "";
  const character = rest.charAt(0);
  const before = text.slice(0, text.length - rest.length).slice(-MAX_BEFORE);
  if (ASYNC_STATEMENT.test(rest) && /(?<![\w$.])async[ \t]{1,8}$/.test(before))
    return syntaxFault(
      text,
      failure,
      "Leave async out: it stands before a function only, and the code may use await without it.",
    );
  if (character === "{" && /(?<![\w$.])async[ \t]{0,8}\([^()]{0,80}\)[ \t]{0,8}$/.test(before))
    return syntaxFault(text, failure, "An arrow function has => before its braces: async () => { ... }.");
  if (character === "@") {
    const notJavaScript = { ...failure, message: "decorators are not JavaScript yet" };
    return withLoader(/<\/|\/>/.test(text) ? "tsx" : "ts", syntaxFault(text, notJavaScript, BUNDLE_HINT));
  }
  if (/^[\u201c\u201d\u201e\u2018\u2019\u201a]/.test(rest)) {
    return syntaxFault(text, failure, "Write straight quotes instead of typographic quotes.");
  }
  if (/^[\u2010-\u2015\u2212]/.test(rest)) {
    return syntaxFault(text, failure, "Write - instead of the typographic dash.");
  }
  if (/^[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064]/.test(rest)) {
    const code = character.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0");
    return syntaxFault(text, failure, `Delete the invisible character U+${code}.`);
  }
  if (/^&(?:gt|lt|amp|quot|apos|nbsp|#\d+);/.test(rest)) {
    return syntaxFault(text, failure, "Send the original text: here HTML entities replace <, >, & or quotes.");
  }
  if (/^\s*<[?!A-Za-z]/.test(text)) {
    return syntaxFault(
      text,
      failure,
      "The text is markup, such as XML or HTML. Only JavaScript and TypeScript run here.",
    );
  }
  return syntaxFault(text, failure, grammarHint(text, failure));
}

/** The part of a text in front of a failure that is looked at. */
const MAX_BEFORE = 120;
const ASYNC_STATEMENT = /^(?:return|const|let|var|if|for|while|do|switch|try|throw|await)\b/;

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
