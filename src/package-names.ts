import { isBuiltin } from "node:module";

import semver from "semver";

import { lowerCaseOf, popularNear } from "./wire/popular-packages.ts";

/** What an import such as `npm:@acme/tools@^2/parse` names. */
export interface NpmSpecifier {
  readonly name: string;
  /** A semver range or a tag, as it was written; null if the specifier has none. */
  readonly range: string | null;
  /** What may be imported, without the range, such as `@acme/tools/parse`. */
  readonly entry: string;
}

/** The longest name that a registry accepts. */
const MAX_NAME_CHARS = 214;
/** The longest range. Comparing ranges takes time that grows with the product of their parts. */
const MAX_RANGE_CHARS = 128;
/** The most alternatives of a range, for the same reason. */
const MAX_ALTERNATIVES = 8;
const MAX_SUBPATH_CHARS = 256;
/** The longest specifier that the scan reads. */
export const MAX_SPECIFIER_CHARS: number = "npm:".length + MAX_NAME_CHARS + 1 + MAX_RANGE_CHARS + MAX_SUBPATH_CHARS;

/** Which packages an entry of a list permits. */
export interface Permit {
  /** A name, or a scope such as `@acme/` with all of its packages. */
  readonly name: string;
  readonly isScope: boolean;
  readonly range: string;
}

export const BAD_PERMIT = "must be a package such as zod, a range such as lodash@4, or a scope such as @acme/*";

const PART = "[A-Za-z0-9~][A-Za-z0-9._~-]*";
const NAME = new RegExp(`^(?:@${PART}/)?${PART}$`);
const SUBPATH = /^(?:\/(?!\.{1,2}(?:\/|$))[A-Za-z0-9._~@+$-]+)+$/;
/** A distribution tag, such as `latest`. */
const TAG = /^[A-Za-z][A-Za-z0-9._-]{0,63}$/;
const SPECIFIER = new RegExp(`^npm:((?:@${PART}/)?${PART})(?:@([^/]+))?(/.*)?$`);

export const BAD_NAME = "is not the name of a package, such as zod or @acme/tools";
export const BAD_RANGE: string = `must be a version, a range or a tag of at most ${MAX_RANGE_CHARS} characters, such as ^4, 4.1.0 or latest; URLs, paths and aliases are not accepted`;

/** Whether a text can be the name of a package in a registry. */
export function isPackageName(text: string): boolean {
  return text.length <= MAX_NAME_CHARS && NAME.test(text) && !/^(?:node_modules|favicon\.ico)$/i.test(text);
}

/** Returns the fault of a name in `packages`, or null. */
export function faultOfName(name: string): string | null {
  if (!isPackageName(name)) return BAD_NAME;
  return isBuiltin(name) ? "is a module of Node, which code imports without a package" : null;
}

/** Whether a text is a range or a tag. Their length is bounded. */
export function isRange(text: string): boolean {
  if (text.length < 1 || text.length > MAX_RANGE_CHARS || text.split("||").length > MAX_ALTERNATIVES) return false;
  return isTag(text) || semver.validRange(text) !== null;
}

/** Whether a range is a tag: versions that it names change without a rule. */
export function isTag(range: string): boolean {
  return TAG.test(range) && semver.validRange(range) === null;
}

/** Whether two ranges have the same versions. `4` and `^4` have. */
export function isSameRange(range: string, other: string): boolean {
  if (range === other) return true;
  const normal = semver.validRange(range);
  return normal !== null && normal === semver.validRange(other);
}

/** Whether each version of a range is in another range. The versions of a tag are unknown, so they are in no range but `*`. */
export function isWithin(range: string, other: string): boolean {
  if (range === other || other === "*") return true;
  if (isTag(range) || isTag(other)) return false;
  const [own, others] = [new semver.Range(range), new semver.Range(other)];
  if (!semver.subset(own, others)) return false;
  // `semver.subset` takes a set such as `=3.2.0-a >1.2` for an empty one. Only a set that names a pre-release has this version.
  const versions = own.set.flat().map(({ semver: version }) => version);
  const named = versions.filter((version) => version instanceof semver.SemVer && version.prerelease.length > 0);
  return named.every((version) => !own.test(version) || others.test(version));
}

/** Reads a specifier that begins with `npm:`. @returns null if it is not one. */
export function readNpmSpecifier(text: string): NpmSpecifier | null {
  const match = text.length <= MAX_SPECIFIER_CHARS ? SPECIFIER.exec(text) : null;
  if (!match) return null;
  const [, name = "", range, subpath = ""] = match;
  if (!isPackageName(name) || (range !== undefined && !isRange(range)) || !isSubpath(subpath)) return null;
  return { name, range: range ?? null, entry: name + subpath };
}

/** Returns the name of the package that a specifier without a range names, such as `zod` for `zod/mini`; null if there is none. */
export function packageOf(specifier: string): string | null {
  const from = specifier.startsWith("@") ? specifier.indexOf("/") + 1 : 0;
  const end = specifier.indexOf("/", from);
  const name = end === -1 ? specifier : specifier.slice(0, end);
  return isPackageName(name) && isSubpath(specifier.slice(name.length)) ? name : null;
}

/** Reads an entry of a list of permitted packages. @returns null if it is not one. */
export function readPermit(text: string): Permit | null {
  if (text.length > MAX_NAME_CHARS + 1 + MAX_RANGE_CHARS) return null;
  const scope = /^(@[^/@]+\/)\*$/.exec(text)?.[1];
  if (scope !== undefined) return isPackageName(`${scope}x`) ? { name: scope, isScope: true, range: "*" } : null;
  const at = text.indexOf("@", 1);
  const name = at === -1 ? text : text.slice(0, at);
  const range = at === -1 ? "*" : text.slice(at + 1);
  return isPackageName(name) && isRange(range) ? { name, isScope: false, range } : null;
}

/** Returns the question about a permit whose name probably is a misspelling of a popular package, or null. A stranger may own that name. */
export function misspeltPermit(text: string): string | null {
  const { name = "", isScope = false } = readPermit(text) ?? {};
  if (isScope) return null;
  const lower = lowerCaseOf(name);
  if (lower !== null) return `npm has names in lower case; did you mean ${lower}?`;
  const near = popularNear(name);
  return near === null ? null : `${name} is not ${near}; did you mean ${near}?`;
}

/** The policies of `--npm` that an entry of a list may mean. A package of one of these names is permitted with a range, as `all@*`. */
const POLICIES: Readonly<Record<string, string>> = { any: "any", all: "any", "*": "any", every: "any", none: "none" };

/** Returns the policy of `--npm` that an entry of a list means, or null. */
export function policyMeant(text: string): string | null {
  return Object.hasOwn(POLICIES, text) ? POLICIES[text]! : null;
}

function isSubpath(text: string): boolean {
  return text === "" || (text.length <= MAX_SUBPATH_CHARS && SUBPATH.test(text));
}
