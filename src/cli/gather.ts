/** For commander: a flag that may be repeated gives a list. */
export function gather(value: string, before: readonly string[] | undefined): readonly string[] {
  return [...(before ?? []), value];
}
