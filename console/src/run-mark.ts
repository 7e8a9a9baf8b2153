import { CaissonError } from "@caisson/client";

import type { Mark } from "./parts/editor-marks.ts";

interface Fault {
  readonly code: string | null;
  readonly message: string;
  readonly at: { readonly file: string; readonly line: number } | null;
}

/** The names that the service gives to a text without a name. */
const OWN_FILES = /^task\.[jt]s$/;
/** The errors of text that does not parse. They end with the next change of the text, which the service parses again. */
const OF_TEXT: readonly (string | null)[] = ["code_syntax", "module_missing"];

/** Returns the line of the text that the last run names, to mark it in the editor. @param isChanged whether the text is another now */
export function markOf(fault: Fault | null, refusal: Error | null, isChanged: boolean): Mark | null {
  const known = fault ?? (refusal instanceof CaissonError ? refusal : null);
  return isChanged && OF_TEXT.includes(known?.code ?? null) ? null : markAt(known);
}

/** Returns the mark of an error, or null if it does not name a line of the text. */
export function markAt(error: Omit<Fault, "code"> | null): Mark | null {
  const at = error?.at;
  return at && OWN_FILES.test(at.file) ? { line: at.line, message: error.message } : null;
}
