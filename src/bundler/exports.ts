import { Failure } from "./failure.ts";
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
 * The most patterns of one member `exports` or `imports`. Each import of a package is compared with all of them: with 50,000 patterns,
 * the 3,000 imports of a package held a builder until its deadline. Known packages have some tens.
 */
const MAX_PATTERNS = 1_000;
/** The most conditions and alternatives that the target of one import may have, for the same reason. */
const MAX_TARGETS = 1_000;

/**
 * Returns the target of a sub-path such as `.` or `./mini`, or null if the package does not export it.
 *
 * @param exported the member `exports`.
 * @param name the package, for the failure
 * @throws {Failure} `packages_too_large` if the member would take too long to search
 */
export function exportTarget(exported: unknown, subpath: string, conditions: Conditions, name = ""): string | null {
  const isTable = isObject(exported) && !Array.isArray(exported) && keysOf(exported, name).hasSubpaths;
  if (!isTable) return subpath === "." ? targetOf(exported, null, { conditions, name, targets: 0 }, 0) : null;
  return tableTarget(exported, subpath, conditions, name);
}

/** Returns the target of a specifier such as `#internal`: a path of the package, or a bare specifier. Throws as `exportTarget`. */
export function importTarget(imports: unknown, specifier: string, conditions: Conditions, name = ""): string | null {
  return isObject(imports) ? tableTarget(imports, specifier, conditions, name) : null;
}

function tableTarget(table: object, subpath: string, conditions: Conditions, name: string): string | null {
  const search = { conditions, name, targets: 0 };
  if (Object.hasOwn(table, subpath) && !subpath.includes("*")) return targetOf(own(table, subpath), null, search, 0);
  const patterns = keysOf(table, name).patterns.filter((key) => matchOf(key, subpath) !== null);
  const [best] = patterns.toSorted(bySpecificity);
  return best === undefined ? null : targetOf(own(table, best), matchOf(best, subpath), search, 0);
}

/** The keys of a table, as a search needs them. */
interface Keys {
  /** Whether a key is a sub-path, and not a condition. */
  readonly hasSubpaths: boolean;
  readonly patterns: readonly string[];
}

/** Read once for each table, and not for each import. */
const known = new WeakMap<object, Keys>();

function keysOf(table: object, name: string): Keys {
  let keys = known.get(table);
  if (!keys) {
    const all = Object.keys(table);
    const patterns = all.filter((key) => key.split("*").length === 2);
    if (patterns.length > MAX_PATTERNS) throw tooWide(name, `more than ${MAX_PATTERNS} patterns`);
    known.set(table, (keys = { hasSubpaths: all.some((key) => key.startsWith(".")), patterns }));
  }
  return keys;
}

function tooWide(name: string, what: string): Failure {
  return new Failure(
    "packages_too_large",
    `exports or imports in the package.json of ${name || "a package"} have ${what}`,
  );
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

interface Search {
  readonly conditions: Conditions;
  readonly name: string;
  /** The conditions and alternatives that were read. */
  targets: number;
}

function targetOf(target: unknown, match: string | null, search: Search, depth: number): string | null {
  if (depth > MAX_DEPTH) return null;
  countTarget(search);
  if (typeof target === "string") return match === null ? target : target.replaceAll("*", () => match);
  if (Array.isArray(target)) {
    for (const each of target) {
      const found = targetOf(each, match, search, depth + 1);
      if (found !== null) return found;
    }
    return null;
  }
  if (!isObject(target)) return null;
  for (const [condition, each] of Object.entries(target)) {
    countTarget(search);
    if (!search.conditions.has(condition)) continue;
    const found = targetOf(each, match, search, depth + 1);
    // A condition that leads nowhere falls through to the next; `null` excludes the sub-path.
    if (found !== null || each === null) return found;
  }
  return null;
}

function countTarget(search: Search): void {
  search.targets += 1;
  if (search.targets > MAX_TARGETS) throw tooWide(search.name, `more than ${MAX_TARGETS} targets for one import`);
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}
