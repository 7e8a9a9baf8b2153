import type { FaultMessage } from "../wire/messages.ts";
import { withoutTexts } from "./without-texts.ts";

/** The hint for an error of code that reads stdin. */
export const NO_STDIN = "A task has no stdin: its input comes with the request, in context.body.";

/** A longer text is not looked at, because other runs of the guest wait meanwhile. */
const MAX_CHARACTERS = 32 * 1024;
const STREAM = /\bprocess\s*\.\s*stdin\b(?!\s*\??\.\s*isTTY)/;
const IMPORTED = /\bstdin\b[^;\n]{0,80}(?:\bfrom\s*|\brequire\(\s*)["'](?:node:)?process["']/;
const FILE = /\b(?:readFile|readFileSync|open|openSync|createReadStream)\(\s*(?:0\s*[,)]|["']\/dev\/stdin["'])/;
/** Errors for the value that was made of an empty input. */
const OF_INPUT = /^Cannot (?:read|destructure)|\bJSON\b|\bundefined\b| is not iterable|^Invalid /;

/** Whether a text reads stdin, and not only asks whether it is a terminal. */
export function readsStdin(text: string): boolean {
  if (!text.includes("stdin") && !text.includes("(0")) return false;
  return FILE.test(text) || IMPORTED.test(text) || (STREAM.test(text) && STREAM.test(withoutTexts(text)));
}

/** Returns the hint for an error of code that probably expected an input in stdin. Never throws. */
export function stdinHint(text: string, { code, error }: FaultMessage): string | undefined {
  try {
    if (code !== "task_threw" || !error || text.length > MAX_CHARACTERS || !readsStdin(text)) return undefined;
    // Without the wall Node refuses to open the file, and its error has no path.
    const isOfFile = error["syscall"] === "open" || error["code"] === "ERR_ACCESS_DENIED";
    return OF_INPUT.test(error.message) || (isOfFile && text.includes("/dev/stdin")) ? NO_STDIN : undefined;
  } catch {
    // A task has replaced a method of texts or patterns.
    return undefined;
  }
}
