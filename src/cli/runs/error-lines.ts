import path from "node:path";

import type { RunRecord } from "../../../client/src/index.ts";
import { commandsIn } from "../fail.ts";
import { printableLines } from "../print/printable.ts";

export type RunError = NonNullable<RunRecord["error"]>;

/** Returns the name of a file for readers, from its name in a position. */
export type FileName = (file: string) => string;

/**
 * Returns the error of a run as lines: code, message, `file:line:column`, the lines around it, the stack and the fix.
 *
 * @param fileName the name of the author for each file
 */
export function runErrorLines(error: RunError, fileName: FileName): string[] {
  const { code, name, message, hint } = error;
  const at = error.at && { ...error.at, file: fileName(error.at.file) };
  const stack = error.stack?.replaceAll(POSITION, (_, file: string, position: string) => fileName(file) + position);
  const what = name === null ? message : `${name}: ${message}`;
  // A message of several lines shows the position, as that of a syntax error does.
  const frame = at?.frame && !message.includes("\n") ? printableLines(at.frame.trimEnd()) : [];
  const frames = printableLines(stack ?? "").filter((line) => /^\s+at /.test(line));
  const place = at === null ? [] : [`    at ${at.file}:${at.line}:${at.column}`];
  const named = frames.some((line) => at !== null && line.includes(`${at.file}:${at.line}:${at.column}`));
  return [
    ...printableLines(`${code}: ${what}`),
    ...(named ? frames : [...place, ...frames]),
    ...frame.map((line) => `  ${line}`),
    ...(hint === null ? [] : printableLines(commandsIn(hint))),
  ];
}

/** The position in a frame of a stack, at its end or in brackets. */
const POSITION = /(?<= at |\()([^\s()]+)(:\d+:\d+)(?=\)?$)/gm;
/** The name that the service gives to code without a name. */
const UNNAMED = /^task(?=\.[cm]?[jt]s$)/;

/** Returns the names of the files of a named task: its code has the name of the task. */
export function filesOfTask(task: string | null): FileName {
  return (file) => (task === null ? file : file.replace(UNNAMED, () => task));
}

/** Returns the names of the files that are sent with a file of the author, in whose folder they are. */
export function filesBelow(folder: string, modules: ReadonlySet<string>): FileName {
  return (file) => (modules.has(`./${file}`) ? path.join(folder, file) : file);
}
