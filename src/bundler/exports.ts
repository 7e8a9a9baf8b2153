import { own } from "./packument.ts";

/**
 * Resolves `exports` and `imports` of a package.json (Node.js, "Modules: Packages", and the algorithm in "Modules: ECMAScript
 * modules"). The members are hostile.
 */

export type Conditions = ReadonlySet<string>;

/** The conditions of Node with `--no-addons`, which guests have. */
export const IMPORT: Conditions = new Set(["node", "import", "module-sync", "default"]);
export const REQUIRE: Conditions = new Set(["node", "require", "module-sync", "default"]);

/** The deepest nesting of conditions. */
const MAX_DEPTH = 16;

/**
 * Returns the target of a sub-path such as `.` or `./mini`, or null if the package does not export it.
 *
 * @param exported the member `exports`.
 */
export function exportTarget(exported: unknown, subpath: string, conditions: Conditions): string | null {
  const isTable =
    isObject(exported) && !Array.isArray(exported) && Object.keys(exported).some((key) => key.startsWith("."));
  if (!isTable) return subpath === "." ? targetOf(exported, null, conditions, 0) : null;
  return tableTarget(exported, subpath, conditions);
}

/** Returns the target of a specifier such as `#internal`: a path of the package, or a bare specifier. */
export function importTarget(imports: unknown, specifier: string, conditions: Conditions): string | null {
  return isObject(imports) ? tableTarget(imports, specifier, conditions) : null;
}

function tableTarget(table: object, subpath: string, conditions: Conditions): string | null {
  if (Object.hasOwn(table, subpath) && !subpath.includes("*"))
    return targetOf(own(table, subpath), null, conditions, 0);
  const patterns = Object.keys(table)
    .filter((key) => key.split("*").length === 2 && matchOf(key, subpath) !== null)
    .toSorted(bySpecificity);
  const [best] = patterns;
  return best === undefined ? null : targetOf(own(table, best), matchOf(best, subpath), conditions, 0);
}

/** Returns what the `*` of a pattern stands for, or null. */
function matchOf(pattern: string, subpath: string): string | null {
  const [start = "", end = ""] = pattern.split("*");
  const isMatch = subpath.startsWith(start) && subpath.endsWith(end) && subpath.length >= pattern.length;
  return isMatch ? subpath.slice(start.length, subpath.length - end.length) : null;
}

/** Longer starts come first (PATTERN_KEY_COMPARE). */
function bySpecificity(a: string, b: string): number {
  return b.indexOf("*") - a.indexOf("*") || b.length - a.length;
}

function targetOf(target: unknown, match: string | null, conditions: Conditions, depth: number): string | null {
  if (depth > MAX_DEPTH) return null;
  if (typeof target === "string") return match === null ? target : target.replaceAll("*", () => match);
  if (Array.isArray(target)) {
    for (const each of target) {
      const found = targetOf(each, match, conditions, depth + 1);
      if (found !== null) return found;
    }
    return null;
  }
  if (!isObject(target)) return null;
  for (const [condition, each] of Object.entries(target)) {
    if (!conditions.has(condition)) continue;
    const found = targetOf(each, match, conditions, depth + 1);
    // A condition that leads nowhere falls through to the next; `null` excludes the sub-path.
    if (found !== null || each === null) return found;
  }
  return null;
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}
