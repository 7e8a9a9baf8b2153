import { printable } from "./printable.ts";

export interface Column {
  readonly head: string;
  /** Numbers are aligned to the right. */
  readonly align?: "right";
}

/** The width of a table: every terminal has these columns, and tables are read in logs, too. */
const WIDTH = 80;
const GAP = "  ";
/** The least width of the last column, if the others leave less. */
const LEAST = 16;

/**
 * Writes rows as a table for readers. The last column is wrapped at the width of a terminal, so that nothing is cut.
 *
 * @param rows one text for each column; may contain any character
 * @returns text that ends with a line end
 */
export function table(columns: readonly Column[], rows: readonly (readonly string[])[]): string {
  const heads = columns.map(({ head }) => head);
  const cells = [heads, ...rows.map((row) => row.map(printable))];
  const widths = columns.map((_, at) => Math.max(...cells.map((row) => row[at]!.length)));
  const fixed = widths.slice(0, -1).reduce((sum, width) => sum + width + GAP.length, 0);
  const last = Math.max(LEAST, WIDTH - fixed);
  return cells.map((row) => rowText(row, columns, widths, fixed, last)).join("");
}

/** Writes names and values, one in each line. Values are wrapped. Values that are null are left out. */
export function fields(entries: readonly (readonly [name: string, value: string | null])[]): string {
  const shown = entries.filter((entry): entry is [string, string] => entry[1] !== null);
  const width = Math.max(...shown.map(([name]) => name.length)) + GAP.length;
  const lines = shown.flatMap(([name, value]) =>
    wrap(printable(value), WIDTH - width).map((line, at) => `${(at === 0 ? name : "").padEnd(width)}${line}`.trimEnd()),
  );
  return `${lines.join("\n")}\n`;
}

function rowText(
  row: readonly string[],
  columns: readonly Column[],
  widths: readonly number[],
  fixed: number,
  last: number,
): string {
  const aligned = row.slice(0, -1).map((cell, at) => pad(cell, widths[at]!, columns[at]!));
  const end = row.length - 1;
  const isRight = columns[end]!.align === "right";
  const [first, ...more] = isRight ? [pad(row[end]!, widths[end]!, columns[end]!)] : wrap(row[end]!, last);
  const lines = [[...aligned, first].join(GAP), ...more.map((line) => " ".repeat(fixed) + line)];
  return lines.map((line) => `${line.trimEnd()}\n`).join("");
}

function pad(cell: string, width: number, { align }: Column): string {
  return align === "right" ? cell.padStart(width) : cell.padEnd(width);
}

/** Breaks a text at spaces. A word that is longer than the width stays whole, so that it can be copied. */
export function wrap(text: string, width: number): string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(" ")) {
    if (line !== "" && line.length + 1 + word.length > width) {
      lines.push(line);
      line = word;
    } else line += line === "" ? word : ` ${word}`;
  }
  return [...lines, line];
}
