import semver from "semver";

import type { Answer } from "../bundler/build-messages.ts";
import { Problem } from "../errors.ts";
import { type BuildOrder, keyOfLock, type Lock, type LockedPackage } from "../packages/model.ts";

/**
 * Makes the lock of a builder's answer. A builder that was taken over by a package must not change what another set is built from.
 * Therefore a lock has exactly the bytes that passed in this build, and the order's own names and entries. Its key is computed here.
 *
 * @param passed the integrity of each tarball that the proxy passed.
 * @throws {Problem} `packages_failed` if the answer is not one to this order.
 */
export function lockOf(
  order: BuildOrder,
  { packages, roots }: Extract<Answer, { is: "built" }>,
  passed: ReadonlyMap<string, string | null>,
  { version, at }: { readonly version: string; readonly at: number },
): Lock {
  const { set, requestedBy } = order;
  const ordered = packages.toSorted((a, b) => compare(a.name, b.name) || compare(a.version, b.version));
  const isHonest =
    passed.size === packages.length &&
    packages.every((each) => passed.get(keyOf(each)) === each.integrity) &&
    hasRoots(set.ranges, packages, roots) &&
    keepsLock(order, ordered, roots);
  if (!isHonest) throw dishonest();
  const parts = { entries: set.entries, roots, packages: ordered, builder: version };
  return { key: keyOfLock(parts), ranges: set.ranges, ...parts, requestedBy, at };
}

/** The answer is not one that the program of builders gives. */
export function dishonest(cause?: unknown): Problem {
  return new Problem("packages_failed", "the builder's answer was refused, because it is not an answer to this set", {
    hint: "One of the packages may be hostile.",
    cause,
  });
}

function hasRoots(
  ranges: Readonly<Record<string, string>>,
  packages: readonly LockedPackage[],
  roots: Readonly<Record<string, string>>,
): boolean {
  const names = Object.keys(ranges);
  if (Object.keys(roots).length !== names.length) return false;
  return names.every((name) => {
    const root = Object.hasOwn(roots, name) ? packages.find((each) => keyOf(each) === roots[name]) : undefined;
    return root !== undefined && root.name === name && mayServe(ranges[name]!, root.version);
  });
}

/** The registry decides the version of a tag, so any version may serve for one. */
function mayServe(range: string, version: string): boolean {
  const options = { loose: true, includePrerelease: true };
  return semver.validRange(range) === null || semver.satisfies(version, range, options);
}

/** Whether the bytes of an earlier lock stay the same, and all of it if nothing was to be updated. */
function keepsLock(
  { set, from, update }: BuildOrder,
  packages: readonly LockedPackage[],
  roots: Readonly<Record<string, string>>,
): boolean {
  if (!from) return true;
  const known = new Map(from.packages.map((each) => [keyOf(each), each.integrity]));
  if (packages.some((each) => (known.get(keyOf(each)) ?? each.integrity) !== each.integrity)) return false;
  const names = Object.keys(set.ranges);
  const isWhole =
    names.every((name) => Object.hasOwn(from.roots, name)) && Object.keys(from.roots).length === names.length;
  if (update.length > 0 || !isWhole) return true;
  const parts = { entries: set.entries, builder: "" };
  return (
    keyOfLock({ ...parts, roots, packages }) === keyOfLock({ ...parts, roots: from.roots, packages: from.packages })
  );
}

function keyOf({ name, version }: Pick<LockedPackage, "name" | "version">): string {
  return `${name}@${version}`;
}

function compare(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
}
