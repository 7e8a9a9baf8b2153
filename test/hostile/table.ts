/** A row of the table that the corpus prints. */
export interface Row {
  readonly kind: string;
  readonly name: string;
  expected: string;
  outcome: string;
  ms: number;
}

const WIDEST = 60;

/** Formats the rows in columns, by class. */
export function table(rows: readonly Row[]): string {
  const sorted = rows.toSorted((a, b) => `${a.kind}/${a.name}`.localeCompare(`${b.kind}/${b.name}`));
  const cells = [
    ["class", "attack", "expected", "outcome", "ms"],
    ...sorted.map((row) => [row.kind, row.name, row.expected, row.outcome, row.ms.toFixed(0)]),
  ].map((line) => line.map((cell) => (cell.length > WIDEST ? `${cell.slice(0, WIDEST - 1)}…` : cell)));
  const widths = cells[0]!.map((_, column) => Math.max(...cells.map((line) => line[column]!.length)));
  return cells
    .map((line) =>
      line
        .map((cell, column) => cell.padEnd(widths[column]!))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}
