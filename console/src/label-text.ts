type Labels = Readonly<Record<string, string>>;

/** Returns labels as a text: `plan=pro, team=web`. */
export function labelText(labels: Labels): string {
  return Object.entries(labels)
    .map(([key, value]) => `${key}=${value}`)
    .join(", ");
}

/**
 * Returns the changes from labels to a text of labels, as a merge patch: null removes a label.
 *
 * @throws {Error} if a part of the text is not key=value
 */
export function labelChanges(text: string, before: Labels): Record<string, string | null> {
  const parts = text.split(",").filter((part) => part.trim() !== "");
  const after = parts.map((part) => {
    const [, key, value] = /^\s*([^=\s]+)\s*=\s*(.*?)\s*$/.exec(part) ?? [];
    if (key === undefined) throw new Error(`"${part.trim()}" is not key=value`);
    return [key, value!] as const;
  });
  const removed = Object.keys(before).map((key) => [key, null] as const);
  return Object.fromEntries([...removed, ...after]);
}
