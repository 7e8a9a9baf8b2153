import { stripTypeScriptTypes } from "node:module";

import { BUNDLE_HINT } from "./error-hints.ts";
import { CodeFault } from "./faults.ts";
import { inFile, offsetOf, type SyntaxFailure, syntaxFailure, syntaxFault } from "./syntax.ts";

const TAB_CHARACTERS = 4;

/**
 * Removes the types from a text without moving any other character. `head` and `tail` wrap the text for the stripper, which
 * parses everything as a module and rejects a `return` at the top level.
 *
 * @throws {CodeFault} for TypeScript syntax that generates code, and when the stripper itself fails.
 */
export function strip(head: string, text: string, tail: string): string | SyntaxFailure {
  try {
    const stripped = stripTypeScriptTypes(head + text + tail);
    return stripped.slice(head.length, stripped.length - tail.length);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === "ERR_INVALID_TYPESCRIPT_SYNTAX") return failureOf(error, text, head);
    if (code === "ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX") {
      const failure = failureOf(error, text, head);
      if (message.includes("angle-bracket")) throw inFile("task.ts", castFault(text, failure));
      const detail = `${message.replace(" in strip-only mode", "")}: use only types that can be erased`;
      throw inFile("task.ts", syntaxFault(text, { ...failure, message: detail }, BUNDLE_HINT));
    }
    // The stripper is WebAssembly. Text that nests too deep corrupts its memory, and it stays broken in this process.
    throw new CodeFault(
      "code_syntax",
      "the types could not be stripped: the code nests too deep for the TypeScript parser",
      {
        hint: "Nest the code less deeply, or send plain JavaScript.",
        retire: true,
      },
    );
  }
}

/** Makes the fault for `<T>value`, which the stripper rejects because it cannot be distinguished from JSX. */
function castFault(text: string, failure: SyntaxFailure): CodeFault {
  const cast = failure.position
    ? text.slice(offsetOf(text, failure.position), offsetOf(text, failure.position) + 200)
    : "";
  const end = closingOf(cast);
  const type = end === -1 ? "T" : cast.slice(1, end);
  const [, value = "value"] = /^\s*([\w$.]{1,80})(?![\w$.(["'`{])/.exec(cast.slice(end + 1)) ?? [];
  const message = `the angle-bracket cast <${type}>${value} is not supported`;
  return syntaxFault(text, { ...failure, message }, `Write ${value} as ${type}.`);
}

/** Returns the index of the bracket that closes the first character of a text, or -1 if its line does not close it. */
function closingOf(text: string): number {
  let open = 0;
  for (let at = 0; at < text.length && text[at] !== "\n"; at += 1) {
    if (text[at] === "<") open += 1;
    if (text[at] === ">" && text[at - 1] !== "=") open -= 1;
    if (open === 0) return at;
  }
  return -1;
}

/** Reads message and position from the stripper's error. It shows a tab as four spaces, which shifts its caret to the right. */
function failureOf(error: unknown, text: string, head: string): SyntaxFailure {
  const failure = syntaxFailure(error, text.replaceAll("\t", " ".repeat(TAB_CHARACTERS)), head);
  if (!failure.position) return failure;
  const line = text.split("\n")[failure.position.line - 1]!;
  let left = failure.position.column - 1;
  let column = 0;
  for (; left > 0 && column < line.length; column += 1) left -= line[column] === "\t" ? TAB_CHARACTERS : 1;
  return { message: failure.message, position: { line: failure.position.line, column: column + 1 } };
}
