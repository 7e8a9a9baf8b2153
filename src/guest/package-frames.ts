import { safeMap } from "./safe-map.ts";
import { printable } from "./source-names.ts";

/**
 * Names the packages in stacks. An artefact is one text with the modules of many packages. Each module begins with a comment
 * that names it, which the bundler writes: `// npm:zod@4.1.0/v4/core/parse.js`.
 */

/**
 * The first line of a module. The line numbers of the bundled text mean nothing to a reader, so only the name is shown. The first line
 * of the text has the head of the script, too.
 */
const MODULE = /^(?:\(function \(module, exports, require\) \{)?\/\/ (npm:[^\s:]{1,1000})$/gm;
const UNKNOWN = "npm:packages";
/** A longer name is cut. It bounds a stack. */
const MAX_SHOWN = 160;

interface PackageText {
  readonly text: string;
  /** The first lines of the modules, counted from 1, and their names; null until a stack refers to the text. */
  modules: { lines: number[]; names: string[] } | null;
}

const texts = safeMap<number, PackageText>();

/** The URL of an artefact. The frames of stacks contain it. */
export function packageUrl(id: number): string {
  return `package:/${id}`;
}

export function rememberPackageText(id: number, text: string): void {
  texts.set(id, { text, modules: null });
}

export function forgetPackageText(id: number): void {
  texts.delete(id);
}

/** Returns the name of the module that has a line of an artefact, such as `npm:zod@4.1.0/v4/core/parse.js`. */
export function packageModuleAt(id: number, line: number): string {
  const found = texts.get(id);
  if (!found) return UNKNOWN;
  const { lines, names } = (found.modules ??= modulesOf(found.text));
  let low = 0;
  let high = lines.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (lines[middle]! <= line) low = middle + 1;
    else high = middle;
  }
  return low === 0 ? UNKNOWN : printable(names[low - 1]!.slice(0, MAX_SHOWN), "?");
}

function modulesOf(text: string): { lines: number[]; names: string[] } {
  const lines: number[] = [];
  const names: string[] = [];
  let line = 1;
  let read = 0;
  MODULE.lastIndex = 0;
  for (let match = MODULE.exec(text); match; match = MODULE.exec(text)) {
    for (let end = text.indexOf("\n", read); end !== -1 && end < match.index; end = text.indexOf("\n", read)) {
      line += 1;
      read = end + 1;
    }
    lines[lines.length] = line;
    names[names.length] = match[1]!;
  }
  return { lines, names };
}
