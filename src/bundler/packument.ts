import semver from "semver";

import { Failure } from "./failure.ts";
import { fetchPackument } from "./fetch-package.ts";

/** One version of a package, as far as it decides what is built. All of it is hostile, and checked. */
export interface Version {
  readonly name: string;
  readonly version: string;
  readonly dependencies: ReadonlyMap<string, string>;
  readonly peers: ReadonlyMap<string, { readonly range: string; readonly isOptional: boolean }>;
  readonly tarball: string;
  /** The SHA-512 or the SHA-1 that the registry states, or null. */
  readonly integrity: string | null;
}

/** The longest range of a dependency, and the most dependencies of one package: comparing them takes time. */
const MAX_RANGE_CHARS = 256;
const MAX_DEPENDENCIES = 500;

/** The versions of one package. */
export class Packument {
  readonly name: string;
  readonly #versions: Members;
  readonly #tags: Members;
  readonly #times: Members;
  readonly #beforeMs: number | null;

  constructor(name: string, document: unknown, beforeMs: number | null) {
    this.name = name;
    this.#versions = membersOf(own(document, "versions"));
    this.#tags = membersOf(own(document, "dist-tags"));
    this.#times = membersOf(own(document, "time"));
    this.#beforeMs = beforeMs;
  }

  /** Returns the version that npm would install for a range or a tag. @throws {Failure} `packages_not_found` */
  pick(range: string): Version {
    const picked = semver.validRange(range) === null ? this.#byTag(range) : this.#byRange(range);
    if (picked !== null) return this.version(picked);
    const newest = this.#best("*") ?? this.#byTag("latest");
    throw new Failure(
      "packages_not_found",
      `no version of ${this.name} is ${quoted(range)}${this.#ageNote(range)}`,
      newest === null ? this.#ageHint() : `The newest version that may be used is ${quoted(newest)}.`,
    );
  }

  /** @throws {Failure} `packages_not_found` */
  version(version: string): Version {
    const manifest = own(this.#versions, version);
    if (manifest === undefined) throw new Failure("packages_not_found", `${this.name}@${version} does not exist`);
    const { name } = this;
    const dist = own(manifest, "dist");
    const tarball = own(dist, "tarball");
    if (typeof tarball !== "string") throw new Failure("packages_failed", `${name}@${version} has no tarball`);
    const optional = rangesOf(own(manifest, "optionalDependencies"), name);
    const all = rangesOf(own(manifest, "dependencies"), name);
    const isBundled = bundledOf(manifest);
    const meta = membersOf(own(manifest, "peerDependenciesMeta"));
    const peers = [...rangesOf(own(manifest, "peerDependencies"), name)].map(([peer, range]) => {
      return [peer, { range, isOptional: own(own(meta, peer), "optional") === true }] as const;
    });
    return {
      name,
      version,
      // npm lists an optional dependency among the others, too.
      dependencies: new Map([...all].filter(([each]) => !optional.has(each) && !isBundled(each))),
      peers: new Map(peers),
      tarball,
      integrity: integrityOf(dist),
    };
  }

  #byTag(tag: string): string | null {
    const version = own(this.#tags, tag);
    if (typeof version !== "string" || own(this.#versions, version) === undefined) return null;
    if (this.#isOldEnough(version)) return version;
    // As npm does for `--before`: the newest that is old enough and not newer than the tag.
    return this.#best(`<=${version}`);
  }

  #byRange(range: string): string | null {
    const latest = own(this.#tags, "latest");
    const isFit = typeof latest === "string" && own(this.#versions, latest) !== undefined && this.#isOldEnough(latest);
    // A package may have no version but pre-releases, which no range without one contains.
    if (isFit && (/^\s*\*?\s*$/.test(range) || semver.satisfies(latest, range, { loose: true }))) return latest;
    return this.#best(range);
  }

  /** Returns the newest version of a range, and a deprecated one only if there is no other. */
  #best(range: string): string | null {
    const fitting = Object.keys(this.#versions).filter((version) => {
      return semver.satisfies(version, range, { loose: true }) && this.#isOldEnough(version);
    });
    const sorted = fitting.toSorted((a, b) => semver.rcompare(a, b, { loose: true }));
    return sorted.find((version) => !own(own(this.#versions, version), "deprecated")) ?? sorted[0] ?? null;
  }

  #isOldEnough(version: string): boolean {
    if (this.#beforeMs === null) return true;
    const time = own(this.#times, version);
    const ms = typeof time === "string" ? Date.parse(time) : Number.NaN;
    // A version without a time may be new.
    return ms <= this.#beforeMs;
  }

  #ageHint(): string | null {
    const versions = Object.keys(this.#versions);
    if (this.#beforeMs === null || versions.length === 0) return null;
    return versions.some((version) => typeof own(this.#times, version) === "string")
      ? "Wait until a version is old enough, or ask the operator for a shorter --npm-min-age."
      : "The registry does not state when its versions were published: the operator has to set --npm-min-age 0s.";
  }

  #ageNote(range: string): string {
    if (this.#beforeMs === null) return "";
    const versions = Object.keys(this.#versions);
    const isYoung = versions.some((version) => semver.satisfies(version, range, { loose: true }));
    return isYoung || own(this.#tags, range) !== undefined ? " and older than --npm-min-age" : "";
  }
}

/** The packuments of one build, each of which is fetched once. */
export class Packuments {
  readonly #beforeMs: number | null;
  readonly #known: Map<string, Promise<Packument>> = new Map();

  constructor(beforeMs: number | null) {
    this.#beforeMs = beforeMs;
  }

  get(name: string): Promise<Packument> {
    let packument = this.#known.get(name);
    if (!packument) {
      const isFull = this.#beforeMs !== null;
      packument = fetchPackument(name, isFull).then((document) => new Packument(name, document, this.#beforeMs));
      this.#known.set(name, packument);
      // Awaited by the caller, and by later callers; a build that has failed awaits no other.
      packument.catch(() => {});
    }
    return packument;
  }
}

type Members = Readonly<Record<string, unknown>>;

/** Returns an own member. A name such as `constructor` or `__proto__` must not find one of JavaScript's. */
export function own(value: unknown, name: string): unknown {
  if (typeof value !== "object" || value === null) return undefined;
  return Object.hasOwn(value, name) ? (value as Members)[name] : undefined;
}

function membersOf(value: unknown): Members {
  return typeof value === "object" && value !== null ? (value as Members) : {};
}

function rangesOf(value: unknown, subject: string): ReadonlyMap<string, string> {
  const members = Object.entries(membersOf(value));
  const isFit = members.every(([, range]) => typeof range === "string" && range.length <= MAX_RANGE_CHARS);
  if (!isFit || members.length > MAX_DEPENDENCIES) {
    throw new Failure("packages_failed", `${subject} has dependencies that cannot be read`);
  }
  return new Map(members as [string, string][]);
}

/**
 * Returns whether a package has a dependency in its own archive. The registry is not asked for it: a stranger could publish a package
 * with a name that its author has only in the archive.
 */
function bundledOf(manifest: unknown): (name: string) => boolean {
  const bundled = own(manifest, "bundleDependencies") ?? own(manifest, "bundledDependencies");
  const names = new Set<unknown>(Array.isArray(bundled) ? bundled : []);
  return (name) => bundled === true || names.has(name);
}

function integrityOf(dist: unknown): string | null {
  const integrity = own(dist, "integrity");
  const strong =
    typeof integrity === "string" ? /(?:^|\s)(sha512-[A-Za-z0-9+/]{86}==)/.exec(integrity)?.[1] : undefined;
  if (strong !== undefined) return strong;
  const sha1 = own(dist, "shasum");
  return typeof sha1 === "string" && /^[0-9a-f]{40}$/.test(sha1)
    ? `sha1-${Buffer.from(sha1, "hex").toString("base64")}`
    : null;
}

export function quoted(text: string): string {
  return JSON.stringify(text.length > 64 ? `${text.slice(0, 64)}...` : text);
}
