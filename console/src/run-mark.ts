import { CaissonError } from "@caisson/client";

import type { Mark } from "./parts/editor.tsx";

interface Fault {
  readonly message: string;
  readonly at: { readonly file: string; readonly line: number } | null;
}

/** The names that the service gives to a text without a name. */
const OWN_FILES = /^task\.[jt]s$/;

/** Returns the line of the text that a failed run names, to mark it in the editor. */
export function markOf(fault: Fault | null, refusal: Error | null): Mark | null {
  const at = fault?.at ?? (refusal instanceof CaissonError ? refusal.at : null);
  const message = fault?.message ?? refusal?.message ?? "";
  return at && OWN_FILES.test(at.file) ? { line: at.line, message } : null;
}
