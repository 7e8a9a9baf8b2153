/** Ranges of packages by their names. */
export type Ranges = Readonly<Record<string, string>>;

/**
 * Parses packages as a reader types them: `zod@^4, @acme/lib`.
 *
 * @returns undefined for an empty text
 * @throws {Error} if a part is not a package
 */
export function rangesOf(text: string): Ranges | undefined {
  const parts = text.split(/[\s,]+/).filter((part) => part !== "");
  if (parts.length === 0) return undefined;
  return Object.fromEntries(
    parts.map((part) => {
      const [, name, range = "*"] = /^(@?[^@\s]+)(?:@(.+))?$/.exec(part) ?? [];
      if (name === undefined) throw new Error(`"${part.slice(0, 40)}" is no package such as zod or zod@^4`);
      return [name, range];
    }),
  );
}

/** Writes ranges as `rangesOf` reads them. */
export function rangesText(ranges: Ranges | null | undefined): string {
  return Object.entries(ranges ?? {})
    .map(([name, range]) => (range === "*" ? name : `${name}@${range}`))
    .join(", ");
}

/** Writes versions for readers: `zod 4.1.0, lodash 4.17.21`. */
export function versionsText(versions: Ranges): string {
  return Object.entries(versions)
    .map(([name, version]) => `${name} ${version}`)
    .join(", ");
}
