import { entryUrl, unevaluatedUrl } from "./package-modules.ts";
import type { Packages } from "./packages.ts";
import { safeMap } from "./safe-map.ts";

/** The packages of each code, and how its texts resolve to them. */

interface CodePackages {
  readonly packages: Packages;
  /** Whether an import evaluates them. Otherwise the texts are only linked. */
  readonly isEvaluated: boolean;
  /** The URL of the one module that stands for all packages if they are not evaluated; null until a text imports one. */
  linkedUrl: string | null;
}

const { keys } = Object;
const byCode = safeMap<number, CodePackages>();

/** Makes packages importable by a code. @param isEvaluated whether an import evaluates them */
export function usePackages(codeId: number, packages: Packages, isEvaluated: boolean): void {
  byCode.set(codeId, { packages, isEvaluated, linkedUrl: null });
}

/** Returns the packages that a code may import, or null. */
export function packagesOfCode(codeId: number): Packages | null {
  return byCode.get(codeId)?.packages ?? null;
}

export function forgetPackagesOfCode(codeId: number): void {
  byCode.delete(codeId);
}

/**
 * Returns the URL of the module that Node's loader loads for a package, or null if the code has no such package.
 *
 * @param isRequired whether a text calls `require`
 * @param texts returns all texts of the code
 */
export function packageModule(
  codeId: number,
  specifier: string,
  isRequired: boolean,
  texts: () => readonly string[],
): string | null {
  const found = byCode.get(codeId);
  const entry = found?.packages.entryOf(specifier) ?? null;
  if (!found || entry === null) return null;
  if (found.isEvaluated) return entryUrl(found.packages, entry, isRequired);
  // The same module for all packages, because two modules with the same names would be ambiguous after `export *`.
  return (found.linkedUrl ??= unevaluatedUrl(importedNames(texts())));
}

/** Returns the names that texts import from any module, and perhaps others. */
function importedNames(texts: readonly string[]): string[] {
  const names = { __proto__: null } as unknown as Record<string, true>;
  for (let index = 0; index < texts.length; index += 1) {
    const lists = texts[index]!.match(/\{[^{}]*\}\s*from\b/g) ?? [];
    const words = lists.join(" ").match(/[\p{ID_Start}$_][\p{ID_Continue}$]*/gu) ?? [];
    for (let at = 0; at < words.length; at += 1) names[words[at]!] = true;
  }
  delete names["default"];
  return keys(names);
}
