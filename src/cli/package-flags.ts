import { BAD_PERMIT, isRange, isTag, readPermit } from "../package-names.ts";
import { UsageError } from "./exits.ts";

/**
 * Reads packages such as `zod@4`, as code spells them also `npm:zod@4`, and `zod`, which has the range that the service permits.
 *
 * @returns ranges by name; undefined without texts
 * @throws {UsageError}
 */
export function packagesOf(texts: readonly string[] | undefined, flag: string): Record<string, string> | undefined {
  if (texts === undefined) return undefined;
  const packages: Record<string, string> = {};
  for (const text of texts.flatMap((each) => each.split(","))) {
    const read = readPermit(text.trim().replace(/^npm:/, ""));
    if (!read || read.isScope) throw new UsageError(`${flag} ${text} is not a package such as zod or zod@4`);
    if (Object.hasOwn(packages, read.name)) throw new UsageError(`${flag} names ${read.name} more than once`);
    packages[read.name] = read.range;
  }
  return packages;
}

/** Checks entries of the list of the operator. @throws {UsageError} */
export function entriesOf(texts: readonly string[]): string[] {
  const entries = texts.flatMap((each) => each.split(",")).map((each) => each.trim().replace(/^npm:/, ""));
  const wrong = entries.find((entry) => readPermit(entry) === null);
  if (wrong !== undefined) throw new UsageError(`${JSON.stringify(wrong)} ${BAD_PERMIT}`);
  const at = entries.findIndex((entry) => isRange(entry) && !isTag(entry));
  if (at > 0)
    throw new UsageError(
      `${JSON.stringify(entries[at])} is a version; did you mean ${entries[at - 1]!.replace(/(?!^)@.*/, "")}@${entries[at]}?`,
    );
  return entries;
}
