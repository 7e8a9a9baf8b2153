import { stripTypeScriptTypes } from "node:module";

import { BUNDLE_HINT } from "./error-hints.ts";
import { CodeFault } from "./faults.ts";
import { offsetOf, type SyntaxFailure, syntaxFailure, syntaxFault } from "./syntax.ts";

const TAB_CHARACTERS = 4;

/**
 * Takes the types out of a text and leaves every other character in its place. The wrapper stands round the text
 * while that is done, because the stripper reads all as a module and refuses a `return` at its top.
 *
 * @throws {CodeFault} for syntax that is not only types, and when the stripper itself breaks.
 */
export function strip(head: string, text: string, tail: string): string | SyntaxFailure {
  try {
    const stripped = stripTypeScriptTypes(head + text + tail);
    return stripped.slice(head.length, stripped.length - tail.length);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === "ERR_INVALID_TYPESCRIPT_SYNTAX") return place(error, text, head);
    if (code === "ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX") {
      const failure = place(error, text, head);
      if (message.includes("angle-bracket")) throw castFault(text, failure);
      const told = `${message.replace(" in strip-only mode", "")}: only types that can be erased may be used`;
      throw syntaxFault(text, { ...failure, message: told }, BUNDLE_HINT);
    }
    // The stripper is WebAssembly: text that nests too deep breaks its memory, and it stays broken for this process.
    throw new CodeFault(
      "code_syntax",
      "the types could not be stripped: the code nests too deep for the TypeScript parser",
      {
        hint: "Nest less deeply, or send plain JavaScript.",
        retire: true,
      },
    );
  }
}

/** `<T>value` cannot be told from JSX by who only erases. */
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

/** Where the bracket is closed that a text begins with; -1: nowhere on its line. */
function closingOf(text: string): number {
  let open = 0;
  for (let at = 0; at < text.length && text[at] !== "\n"; at += 1) {
    if (text[at] === "<") open += 1;
    if (text[at] === ">" && text[at - 1] !== "=") open -= 1;
    if (open === 0) return at;
  }
  return -1;
}

/** The stripper shows a tab as four blanks, so its caret stands further right than the text does. */
function place(error: unknown, text: string, head: string): SyntaxFailure {
  const failure = syntaxFailure(error, text.replaceAll("\t", " ".repeat(TAB_CHARACTERS)), head);
  if (!failure.position) return failure;
  const line = text.split("\n")[failure.position.line - 1]!;
  let left = failure.position.column - 1;
  let column = 0;
  for (; left > 0 && column < line.length; column += 1) left -= line[column] === "\t" ? TAB_CHARACTERS : 1;
  return { message: failure.message, position: { line: failure.position.line, column: column + 1 } };
}
