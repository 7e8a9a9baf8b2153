/** A line of two texts: in both, or in one of them. */
export interface DiffLine {
  readonly kind: "same" | "added" | "removed";
  readonly text: string;
}

/** Texts with more lines than this are compared as a whole, because the table of the comparison grows with its square. */
const MOST_LINES = 2_000;

/** Returns the lines that lead from one text to another: a longest common subsequence (Hunt and McIlroy, 1976). */
export function lineDiff(before: string, after: string): DiffLine[] {
  const [old, now] = [before.split("\n"), after.split("\n")];
  if (old.length > MOST_LINES || now.length > MOST_LINES) {
    return [...old.map((text) => line("removed", text)), ...now.map((text) => line("added", text))];
  }
  const width = now.length + 1;
  const lengths = new Uint16Array((old.length + 1) * width);
  for (let i = old.length - 1; i >= 0; i--) {
    for (let j = now.length - 1; j >= 0; j--) {
      lengths[i * width + j] =
        old[i] === now[j]
          ? lengths[(i + 1) * width + j + 1]! + 1
          : Math.max(lengths[(i + 1) * width + j]!, lengths[i * width + j + 1]!);
    }
  }
  const lines: DiffLine[] = [];
  let [i, j] = [0, 0];
  while (i < old.length || j < now.length) {
    if (i < old.length && j < now.length && old[i] === now[j]) {
      lines.push(line("same", old[i++]!));
      j++;
    } else if (j >= now.length || (i < old.length && lengths[(i + 1) * width + j]! >= lengths[i * width + j + 1]!)) {
      lines.push(line("removed", old[i++]!));
    } else {
      lines.push(line("added", now[j++]!));
    }
  }
  return lines;
}

function line(kind: DiffLine["kind"], text: string): DiffLine {
  return { kind, text };
}
