/** Formats a Markdown table like the formatter of this project. The first row is the head; numbers are on the right. */
export function markdownTable(rows: readonly (readonly string[])[], textColumns: number): string {
  const widths = rows[0]!.map((_, column) => Math.max(3, ...rows.map((row) => row[column]!.length)));
  const isText = (column: number): boolean => column < textColumns;
  const line = (cells: readonly string[]): string => {
    const padded = cells.map((cell, at) => (isText(at) ? cell.padEnd(widths[at]!) : cell.padStart(widths[at]!)));
    return `| ${padded.join(" | ")} |\n`;
  };
  const rule = widths.map((width, at) => (isText(at) ? "-".repeat(width) : `${"-".repeat(width - 1)}:`));
  const [head, ...body] = rows;
  return `${line(head!)}| ${rule.join(" | ")} |\n${body.map(line).join("")}`;
}
