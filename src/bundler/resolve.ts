import semver from "semver";

import { type BuildMessage, type BuiltPackage, MAX_PACKAGES } from "./build-messages.ts";
import { Failure } from "./failure.ts";
import { Packuments, quoted, type Version } from "./packument.ts";

/** A version that was picked, and what it imports. */
export interface Picked {
  readonly name: string;
  readonly version: string;
  /** The keys of what it imports, by the names under which it imports them. */
  readonly dependencies: Map<string, string>;
  /** The URL of the tarball; null if the registry was not asked. */
  readonly tarball: string | null;
  /** The SHA-512 or SHA-1 that the bytes must have; null if the registry states none. */
  readonly integrity: string | null;
}

export interface Resolution {
  /** By `name@version`. */
  readonly packages: ReadonlyMap<string, Picked>;
  /** The keys of the packages of the order, by their names. */
  readonly roots: ReadonlyMap<string, string>;
}

/**
 * Picks a version of each package of the order and of everything that they depend on. As with npm, a version that was picked before
 * serves again if its range allows it, peers are installed, and optional dependencies are not.
 *
 * @throws {Failure}
 */
export async function resolved(order: BuildMessage): Promise<Resolution> {
  return lockedWhole(order) ?? (await new Resolver(order).resolve());
}

/** Returns the versions of the earlier lock if it answers the whole order. The registry is not asked then. */
function lockedWhole({ from, ranges, update }: BuildMessage): Resolution | null {
  if (!from || update.length > 0) return null;
  const packages = new Map(from.packages.map((each) => [keyOf(each), asPicked(each)]));
  const roots = new Map(Object.entries(from.roots));
  const isWhole = Object.entries(ranges).every(([name, range]) => {
    const root = packages.get(roots.get(name) ?? "");
    return root !== undefined && (semver.validRange(range) === null || allows(range, root.version));
  });
  return isWhole && roots.size === Object.keys(ranges).length ? { packages, roots } : null;
}

function asPicked({ name, version, integrity, dependencies }: BuiltPackage): Picked {
  return { name, version, integrity, dependencies: new Map(Object.entries(dependencies)), tarball: null };
}

export function keyOf({ name, version }: { readonly name: string; readonly version: string }): string {
  return `${name}@${version}`;
}

/** What a package wants of another. */
interface Edge {
  readonly from: Picked;
  /** The name under which it is imported. */
  readonly alias: string;
  readonly name: string;
  readonly range: string;
}

class Resolver {
  readonly #order: BuildMessage;
  readonly #packuments: Packuments;
  readonly #packages: Map<string, Picked> = new Map();
  readonly #versions: Map<Picked, Version> = new Map();
  readonly #roots: Map<string, string> = new Map();
  /** The locked versions of each name. */
  readonly #locked: Map<string, string[]> = new Map();

  constructor(order: BuildMessage) {
    this.#order = order;
    this.#packuments = new Packuments(order.beforeMs);
    const updated = new Set(order.update);
    for (const { name, version } of order.from?.packages ?? []) {
      if (!updated.has(name)) this.#locked.set(name, [...(this.#locked.get(name) ?? []), version]);
    }
  }

  async resolve(): Promise<Resolution> {
    const wanted = Object.entries(this.#order.ranges);
    await Promise.all(wanted.map(([name]) => this.#packuments.get(name)));
    const added: Picked[] = [];
    for (const [name, range] of wanted) {
      const [key, isNew] = await this.#pick(name, range);
      this.#roots.set(name, key);
      if (isNew) added.push(this.#packages.get(key)!);
    }
    await this.#addDependencies(added);
    await this.#addPeers();
    return { packages: this.#packages, roots: this.#roots };
  }

  /** Adds what packages depend on, level by level and in the order of names, so that the result does not depend on times. */
  async #addDependencies(level: readonly Picked[]): Promise<void> {
    for (let next = level; next.length > 0;) {
      const edges = next.flatMap((from) => this.#edgesOf(from));
      const missing = edges.filter((edge) => !this.#served(edge));
      await Promise.all(missing.map(({ from, name }) => forPackage(from, () => this.#packuments.get(name))));
      const added: Picked[] = [];
      for (const { from, alias, name, range } of edges) {
        const [key, isNew] = await forPackage(from, () => this.#pick(name, range));
        from.dependencies.set(alias, key);
        if (isNew) added.push(this.#packages.get(key)!);
      }
      next = added;
    }
  }

  #edgesOf(from: Picked): Edge[] {
    const { dependencies } = this.#versions.get(from)!;
    return [...dependencies].toSorted(byName).map(([alias, spec]) => ({ from, alias, ...specOf(alias, spec, from) }));
  }

  /** Picks peers after everything else, because they are mostly there by then. A peer may bring further packages with peers. */
  async #addPeers(): Promise<void> {
    const done = new Set<Picked>();
    for (;;) {
      const next = [...this.#packages.values()].filter((each) => !done.has(each));
      if (next.length === 0) return;
      for (const from of next) {
        done.add(from);
        await this.#addPeersOf(from);
      }
    }
  }

  async #addPeersOf(from: Picked): Promise<void> {
    for (const [peer, { range, isOptional }] of [...this.#versions.get(from)!.peers].toSorted(byName)) {
      if (from.dependencies.has(peer)) continue;
      const spec = specOf(peer, range, from);
      const present = this.#roots.get(peer) ?? this.#dependantsPick(from, peer);
      const isFit = present !== undefined && allows(spec.range, this.#packages.get(present)!.version);
      if (isFit) from.dependencies.set(peer, present);
      else if (isOptional) continue;
      else if (present !== undefined) throw unfit(from, peer, range, present);
      else {
        const [key, isNew] = await forPackage(from, () => this.#pick(spec.name, spec.range));
        from.dependencies.set(peer, key);
        if (isNew) await this.#addDependencies([this.#packages.get(key)!]);
      }
    }
  }

  /** Returns the version of a peer that a package has which depends on the package that wants the peer. */
  #dependantsPick(from: Picked, peer: string): string | undefined {
    const key = keyOf(from);
    for (const { dependencies } of this.#packages.values()) {
      if (dependencies.has(peer) && [...dependencies.values()].includes(key)) return dependencies.get(peer);
    }
    return undefined;
  }

  /** @returns the key of the picked version, and whether it is picked for the first time. */
  async #pick(name: string, range: string): Promise<[key: string, isNew: boolean]> {
    const present = this.#present(name, range);
    if (present !== null) return [keyOf({ name, version: present }), false];
    const packument = await this.#packuments.get(name);
    const locked = newest((this.#locked.get(name) ?? []).filter((version) => allows(range, version)));
    const version = locked === null ? packument.pick(range) : packument.version(locked);
    const { tarball, integrity } = version;
    const picked: Picked = { name, version: version.version, dependencies: new Map(), tarball, integrity };
    const key = keyOf(picked);
    if (this.#packages.has(key)) return [key, false];
    this.#packages.set(key, picked);
    this.#versions.set(picked, version);
    if (this.#packages.size > MAX_PACKAGES) {
      throw new Failure(
        "packages_too_large",
        `the set has more than ${MAX_PACKAGES} packages with what they depend on`,
      );
    }
    return [key, true];
  }

  #served({ name, range }: Edge): boolean {
    return this.#present(name, range) !== null;
  }

  /** Returns the newest picked version that a range allows, or null. */
  #present(name: string, range: string): string | null {
    const versions = [...this.#packages.values()].filter((each) => each.name === name).map(({ version }) => version);
    return newest(versions.filter((version) => allows(range, version)));
  }
}

/** Finds what a package depends on. A failure names the package, because the code that imports it may not name its dependencies. */
async function forPackage<T>(from: Picked, find: () => Promise<T>): Promise<T> {
  try {
    return await find();
  } catch (error) {
    if (!(error instanceof Failure) || error.code !== "packages_not_found") throw error;
    throw new Failure(error.code, `${error.message}; ${keyOf(from)} depends on it`, error.hint);
  }
}

function newest(versions: readonly string[]): string | null {
  return versions.toSorted((a, b) => semver.rcompare(a, b, { loose: true }))[0] ?? null;
}

/** Whether a range allows a version. A tag allows none, because the registry decides its version. */
function allows(range: string, version: string): boolean {
  return semver.validRange(range) !== null && semver.satisfies(version, range, { loose: true });
}

/** Reads a dependency such as `^1.2` or `npm:other@^1.2`. @throws {Failure} if it is not a version at a registry. */
function specOf(alias: string, spec: string, from: Picked): { name: string; range: string } {
  const [, name = alias, range = spec] = /^npm:((?:@[^/@]+\/)?[^/@]+)(?:@(.*))?$/.exec(spec) ?? [];
  const wanted = spec.startsWith("npm:") && range === spec ? "" : range;
  if (semver.validRange(wanted) !== null || /^[A-Za-z][\w.-]*$/.test(wanted)) return { name, range: wanted };
  const subject = `${keyOf(from)} depends on ${quoted(alias)} as ${quoted(spec)}`;
  throw new Failure("packages_failed", `${subject}, which is not a version of a registry`);
}

function unfit(from: Picked, peer: string, range: string, present: string): Failure {
  const detail = `${keyOf(from)} needs ${peer}@${range} next to it, and the set has ${present}`;
  return new Failure("packages_failed", detail, `Name a range of ${peer} that contains a version which both accept.`);
}

function byName([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number {
  return a < b ? -1 : 1;
}
