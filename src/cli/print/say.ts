import { printable } from "./printable.ts";

/** Prints a note about what was done or what comes next. Notes are on stderr, because stdout has only data. */
export function say(...lines: readonly string[]): void {
  for (const line of lines) process.stderr.write(`caisson: ${printable(line)}\n`);
}
