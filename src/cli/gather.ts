/** Collects the values of a repeatable flag into a list, for commander. */
export function gather(value: string, before: readonly string[] | undefined): readonly string[] {
  return [...(before ?? []), value];
}
