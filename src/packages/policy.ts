import { Problem } from "../errors.ts";
import { nearest } from "../nearest.ts";
import { isTag, isWithin, type Permit, readPermit } from "../package-names.ts";
import { lowerCaseOf, popularNear } from "../wire/popular-packages.ts";
import type { PackageSet } from "./model.ts";

/** The packages that a token permits: texts such as `zod`, `lodash@4` and `@acme/*`; `false` for none, null for no restriction. */
export type PackagesClaim = readonly string[] | false | null;

/** What the operator permits. */
export interface PackagePolicy {
  /** `none` refuses all packages, `any` accepts all, `listed` accepts those of the list. */
  readonly mode: "none" | "listed" | "any";
  readonly allow: readonly string[];
}

const read = new WeakMap<readonly string[], readonly Permit[]>();

/**
 * Returns the range of a package that code names without one: that of the only entry which permits the package, if it has one.
 * Otherwise the newest version would be refused, although another is permitted.
 */
export function defaultRange(name: string, policy: PackagePolicy, claim: PackagesClaim): string {
  const lists = [claim === null || claim === false ? [] : permitsOf(claim)];
  if (policy.mode === "listed") lists.push(permitsOf(policy.allow));
  for (const list of lists) {
    const ranges = list.filter((permit) => covers(permit, name)).map(({ range }) => range);
    if (ranges.length === 1 && ranges[0] !== "*") return ranges[0]!;
  }
  return "*";
}

/**
 * Requires that a set of packages is permitted. The dependencies of a permitted package come with it.
 *
 * @throws {Problem} `packages_forbidden` that names the setting or the claim
 */
export function requirePermitted(
  { ranges }: Pick<PackageSet, "ranges">,
  policy: PackagePolicy,
  claim: PackagesClaim,
): void {
  const names = Object.keys(ranges);
  const [first] = names;
  if (first === undefined) return;
  if (policy.mode === "none") throw forbidden(first, "the operator permits no packages (--npm none)", NONE);
  if (claim === false)
    throw forbidden(first, "the token permits no packages (its claim packages is false)", ASK_ISSUER);
  for (const name of names) {
    const range = ranges[name]!;
    if (policy.mode === "listed" && !isPermitted(name, range, permitsOf(policy.allow))) {
      const hint = nearHint(name, policy, claim) ?? rangeHint(name, permitsOf(policy.allow), moreHint) ?? addHint(name);
      throw forbidden(name, `--npm-allow ${limitOf(name, range, permitsOf(policy.allow))}`, hint);
    }
    if (claim !== null && !isPermitted(name, range, permitsOf(claim))) {
      const hint = nearHint(name, policy, claim) ?? rangeHint(name, permitsOf(claim), () => ASK_ISSUER) ?? ASK_ISSUER;
      throw forbidden(name, `the claim packages of the token ${limitOf(name, range, permitsOf(claim))}`, hint);
    }
  }
}

/**
 * Returns whether a claim permits only what the claim above permits.
 *
 * @returns null if a comparison of all their ranges would take too long
 */
export function permitsNoMore(claim: PackagesClaim, above: PackagesClaim): boolean | null {
  if (above === null || claim === false) return true;
  if (above === false || claim === null) return false;
  const others = permitsOf(above);
  const equal = new Set(above);
  let compared = 0;
  for (const [index, { name, isScope, range }] of permitsOf(claim).entries()) {
    if (equal.has(claim[index]!)) continue;
    const covering = others.filter((other) => (isScope ? other.isScope && other.name === name : covers(other, name)));
    if (covering.some((other) => other.range === "*")) continue;
    compared += covering.reduce((sum, other) => sum + pairsOf(range, other.range), 0);
    if (compared > MAX_COMPARED) return null;
    if (!covering.some((other) => isWithin(range, other.range))) return false;
  }
  return true;
}

/** The most pairs of alternatives of ranges that are compared. Each takes up to a tenth of a millisecond on the thread of the service. */
const MAX_COMPARED = 200;

/** Returns the pairs of alternatives of two ranges. To compare ranges takes time that grows with them. */
function pairsOf(range: string, other: string): number {
  return range.split("||").length * other.split("||").length;
}

const NONE = "The operator permits packages with --npm listed and --npm-allow. Or bundle the package with the code.";
const ASK_ISSUER = "Ask for a token that permits it.";

function addHint(name: string): string {
  const lower = lowerCaseOf(name);
  if (lower !== null)
    return `npm has names in lower case; did you mean ${lower}? An administrator permits it with caisson packages add ${lower}.`;
  const near = popularNear(name);
  if (near !== null)
    return `Did you mean ${near}? An administrator permits it with caisson packages add ${near}. Or bundle it with the code.`;
  return `An administrator permits it with caisson packages add ${name}. Or bundle it with the code.`;
}

function moreHint(name: string): string {
  return `An administrator permits all versions with caisson packages add ${name}.`;
}

/** Returns the hint for another range than the permitted one, or null. */
function rangeHint(name: string, permits: readonly Permit[], more: (name: string) => string): string | null {
  const found = permits.find((permit) => covers(permit, name));
  return found ? `Name a range within ${found.range}. ${more(name)}` : null;
}

/** Returns the hint with the permitted package whose name is probably meant, or null. */
function nearHint(name: string, policy: PackagePolicy, claim: PackagesClaim): string | null {
  const lists = [...(policy.mode === "listed" ? [policy.allow] : []), ...(claim ? [claim] : [])].map(permitsOf);
  if (lists.some((list) => list.some((permit) => covers(permit, name)))) return null;
  const names = lists.flatMap((list) => list.filter(({ isScope }) => !isScope).map((permit) => permit.name));
  const near = nearest(
    name,
    names.filter((each) => lists.every((list) => list.some((permit) => covers(permit, each)))),
  );
  return near === null ? null : `Did you mean ${near}? It is permitted.`;
}

function forbidden(name: string, why: string, hint: string): Problem {
  return new Problem("packages_forbidden", `the package ${name} is not permitted: ${why}`, { hint });
}

/** Returns why a list does not permit a package. */
function limitOf(name: string, range: string, permits: readonly Permit[]): string {
  const ranges = permits.filter((permit) => covers(permit, name)).map((permit) => permit.range);
  if (ranges.length === 0) return "does not list it";
  const asked = isTag(range) ? `the tag ${range}, whose version changes,` : `the range ${range}`;
  return `permits only the range ${ranges.join(" or ")}, and ${asked} is not within it`;
}

function isPermitted(name: string, range: string, permits: readonly Permit[]): boolean {
  return permits.some((permit) => covers(permit, name) && isWithin(range, permit.range));
}

function covers({ name, isScope }: Permit, other: string): boolean {
  return isScope ? other.startsWith(name) : other === name;
}

function permitsOf(list: readonly string[]): readonly Permit[] {
  let permits = read.get(list);
  if (!permits) read.set(list, (permits = list.map((text) => readPermit(text)!)));
  return permits;
}
