/**
 * Returns how often a header occurs in a request. Node keeps only the first value of some headers.
 *
 * @param rawHeaders name, value, name, value
 * @param name in lower case
 */
export function occurrences(rawHeaders: readonly string[], name: string): number {
  let count = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const other = rawHeaders[at]!;
    if (other.length === name.length && other.toLowerCase() === name) count += 1;
  }
  return count;
}
