import { createHash } from "node:crypto";

/** What a text asks for. Both members are sorted by name. */
export interface PackageSet {
  /** A semver range or a tag by the name of each package, such as `{"zod": "^4"}`. */
  readonly ranges: Readonly<Record<string, string>>;
  /** What code imports or requires: packages and their sub-paths, such as `["require:zod", "zod", "zod/mini"]`. */
  readonly entries: readonly string[];
}

/** One version of one package. */
export interface LockedPackage {
  readonly name: string;
  readonly version: string;
  /** `sha512-` and the SHA-512 of the tarball in base64. */
  readonly integrity: string;
  /** The key `name@version` of each dependency, by the name under which the package imports it. */
  readonly dependencies: Readonly<Record<string, string>>;
}

/** The versions that a set of packages was resolved to. */
export interface Lock {
  /** See `keyOfLock`. It names the artefact. */
  readonly key: string;
  readonly ranges: Readonly<Record<string, string>>;
  readonly entries: readonly string[];
  /** The key `name@version` of each package of `ranges`. Equal packages may lock two sets whose names mean different versions. */
  readonly roots: Readonly<Record<string, string>>;
  /** Sorted by name, then by version. */
  readonly packages: readonly LockedPackage[];
  /** The version of the builder. */
  readonly builder: string;
  /** The `jti` of the token whose request made the lock. */
  readonly requestedBy: string;
  /** Unix milliseconds. */
  readonly at: number;
}

/** A request for a lock and its artefact. */
export interface BuildOrder {
  readonly set: PackageSet;
  /** Keep the versions of this lock, except those of `update`. Null resolves everything again. */
  readonly from: Lock | null;
  readonly update: readonly string[];
  /** The least age of a version, in milliseconds: a stolen account of an author is mostly noticed within days. */
  readonly minAgeMs: number;
  /** The token family that the build is for. */
  readonly holder: string;
  /** The `jti` of the token that the build is for. */
  readonly requestedBy: string;
  /** The token itself, for `BuildQueue.end`. */
  readonly caller?: object | undefined;
}

export interface Built {
  readonly lock: Lock;
  /** The UTF-8 text of one CommonJS module. */
  readonly artefact: Buffer;
}

/** The languages that the builder makes JavaScript from. */
export type Loader = "ts" | "tsx" | "jsx";

/** A text and its language. */
export interface Text {
  readonly text: string;
  readonly loader: Loader;
}

/** The first of several texts that the builder rejects. */
export interface Rejection {
  /** What is wrong with it. */
  readonly rejected: string;
  /** Its place, from 0. */
  readonly at: number;
}

/** Resolves and bundles packages, and transforms what Node's type stripping refuses. */
export interface Builder {
  /** The `builder` member of the locks that it makes. */
  readonly version: string;
  /**
   * The promise settles soon after the signal aborts.
   *
   * @throws {Problem} `packages_not_found`, `packages_native`, `packages_too_large`, `packages_failed`, `packages_unavailable`
   */
  build(order: BuildOrder, signal: AbortSignal): Promise<Built>;
  /**
   * The promise rejects with the reason of the signal soon after the signal aborts.
   *
   * @param texts texts of one code
   * @returns JavaScript with an inline source map of each text.
   * @throws {Problem} `packages_failed`, `packages_unavailable`
   */
  transform(texts: readonly Text[], holder: string, signal: AbortSignal): Promise<readonly string[] | Rejection>;
  close(): Promise<void>;
}

/** What code receives with its text: the artefact of its packages. */
export interface Artefact {
  readonly key: string;
  readonly artefact: Buffer;
}

/**
 * Returns the key of a lock: the SHA-256, in hexadecimal, of the members that decide the artefact. The requester and the time are
 * no part of it, so equal sets of equal versions share an artefact.
 */
export function keyOfLock({
  entries,
  roots,
  packages,
  builder,
}: Pick<Lock, "entries" | "roots" | "packages" | "builder">): string {
  const shown = packages.map(({ name, version, integrity, dependencies }) => {
    return [name, version, integrity, sorted(dependencies)];
  });
  return createHash("sha256")
    .update(JSON.stringify([entries, sorted(roots), shown, builder]))
    .digest("hex");
}

function sorted(members: Readonly<Record<string, string>>): [string, string][] {
  return Object.entries(members).toSorted(([a], [b]) => (a < b ? -1 : 1));
}
