import { isDeepStrictEqual } from "node:util";

import semver from "semver";

import { Problem } from "../errors.ts";
import { isTag } from "../package-names.ts";
import { formatSize } from "../units.ts";
import { type BuildOrder, type Built, keyOfLock, type Lock } from "./model.ts";

/** The largest artefact, which each guest that uses it receives and compiles. */
export const MAX_ARTEFACT_BYTES: number = 10 * 2 ** 20;

/**
 * Requires that the result of a build is of its order. Packages can take over the guest that builds them, and this guest must not
 * replace the artefact of another set. Each package of the order is in the lock and thereby in its key, so a guest that hostile packages
 * have taken over can only name keys with these packages.
 *
 * @throws {Problem} `packages_failed`, `packages_too_large`
 */
export function requireOrdered({ lock, artefact }: Built, order: BuildOrder): void {
  const maxBytes = MAX_ARTEFACT_BYTES;
  if (artefact.length > maxBytes) {
    throw new Problem(
      "packages_too_large",
      `the packages have ${formatSize(artefact.length)} when they are built; at most ${formatSize(maxBytes)} are accepted`,
      { hint: "Name fewer packages, or the sub-paths that the code needs." },
    );
  }
  const { set, from, update } = order;
  const known = new Set(lock.packages.map(({ name, version }) => `${name}@${version}`));
  const isOfSet =
    isDeepStrictEqual(lock.ranges, set.ranges) &&
    lock.entries.every((entry) => set.entries.includes(entry)) &&
    isDeepStrictEqual(Object.keys(lock.roots), Object.keys(set.ranges).toSorted()) &&
    Object.entries(lock.roots).every(([name, key]) => isRoot(name, key, set.ranges[name]!) && known.has(key));
  const isWhole = lock.packages.every(({ dependencies }) => Object.values(dependencies).every((key) => known.has(key)));
  const isExact =
    from === null || update.length > 0 || !isSameSet(from, order) || isDeepStrictEqual(lock.packages, from.packages);
  if (isOfSet && isWhole && isExact && lock.key === keyOfLock(lock)) return;
  throw new Problem("packages_failed", "the result of the build is not what was ordered", {
    hint: "A package may be hostile. Use other packages, and tell the operator.",
  });
}

/** Whether an order builds a lock again, so that nothing in it may change. */
function isSameSet({ ranges, entries }: Lock, { set }: BuildOrder): boolean {
  return isDeepStrictEqual(ranges, set.ranges) && isDeepStrictEqual(entries, set.entries);
}

function isRoot(name: string, key: string, range: string): boolean {
  if (!key.startsWith(`${name}@`)) return false;
  const version = key.slice(name.length + 1);
  // A package may have no version but pre-releases. Then `*` is one of them, which it does not contain.
  const isFit = isTag(range) || range === "*" || semver.satisfies(version, range);
  return isFit && isVersion(version);
}

/** Whether a text is a version, with nothing around it. */
function isVersion(text: string): boolean {
  const version = semver.parse(text);
  return (
    version !== null && text === [version.version, version.build.join(".")].filter((part) => part !== "").join("+")
  );
}
