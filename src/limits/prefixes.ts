/** Returns the prefixes in order, without those that begin with another one of them. */
export function distinctPrefixes(prefixes: readonly string[]): string[] {
  const distinct: string[] = [];
  for (const prefix of prefixes.toSorted()) {
    const last = distinct.at(-1);
    if (last === undefined || !prefix.startsWith(last)) distinct.push(prefix);
  }
  return distinct;
}

/**
 * Returns whether a text begins with one of the prefixes. The prefixes must be distinct and in order: then only the last prefix
 * that is not after the text can match, and a search finds it in a few steps.
 */
export function hasPrefix(prefixes: readonly string[], text: string): boolean {
  let low = 0;
  let high = prefixes.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (prefixes[middle]! <= text) low = middle + 1;
    else high = middle;
  }
  return low > 0 && text.startsWith(prefixes[low - 1]!);
}
