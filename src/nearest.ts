/** The characters of a text that are compared. Longer names than this are never a misspelling of a short one. */
const MAX_CHARS = 48;
/** The shortest text that means a name as its beginning, such as `min` for `minute`. */
const LEAST_PREFIX = 3;

/**
 * Returns the name that a text most probably means, or null: the same letters, a beginning, or few wrong letters.
 * For the texts of errors only. The time is bounded by the number of names.
 *
 * @param names names of the service, never of a caller
 */
export function nearest(text: string, names: readonly string[]): string | null {
  if (text.length > MAX_CHARS) return null;
  const written = lettersOf(text);
  if (written === "") return null;
  const same = names.find((name) => lettersOf(name) === written);
  if (same !== undefined) return same;
  let best: string | null = null;
  let least = Math.ceil(written.length / 3) + 1;
  for (const name of names) {
    const letters = lettersOf(name);
    const isBeginning = written.length >= LEAST_PREFIX && letters.startsWith(written);
    // The letters to add or to remove are at least as many, and cost no comparison.
    const added = Math.abs(letters.length - written.length);
    const differs = isBeginning ? 1 : added >= least ? added : distance(written, letters);
    if (differs >= least) continue;
    [best, least] = [name, differs];
  }
  return best;
}

/** Returns `; did you mean ...?` for a text that is near one of the names, and an empty text for any other. */
export function didYouMean(text: string, names: readonly string[]): string {
  const name = nearest(text, names);
  return name === null ? "" : `; did you mean ${name}?`;
}

/** Writes names for a sentence, at most `most` of them. */
export function listed(names: readonly string[], most: number): string {
  const further = names.length - most;
  return names.slice(0, most).join(", ") + (further > 0 ? ` and ${further} more` : "");
}

/** Separators and case do not tell names apart: `wall-limit` means `wallLimit`. */
function lettersOf(text: string): string {
  return text
    .slice(0, MAX_CHARS)
    .toLowerCase()
    .replaceAll(/[^a-z0-9]/g, "");
}

/** Counts the letters to add, to remove, to replace and to swap with their neighbour (optimal string alignment). */
function distance(a: string, b: string): number {
  let before: number[] = [];
  let above = Array.from({ length: b.length + 1 }, (_, at) => at);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const cost = a[i - 1] === b[j - 1] ? 0 : 1;
      let least = Math.min(above[j]! + 1, row[j - 1]! + 1, above[j - 1]! + cost);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) least = Math.min(least, before[j - 2]! + 1);
      row.push(least);
    }
    [before, above] = [above, row];
  }
  return above[b.length]!;
}
