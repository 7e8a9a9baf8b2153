import { createHash } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import type { TestContext } from "node:test";

import semver from "semver";

import { Problem } from "../../src/errors.ts";
import { Artefacts } from "../../src/packages/artefacts.ts";
import { BuildQueue } from "../../src/packages/build-queue.ts";
import { type Builder, type BuildOrder, type Built, keyOfLock, type Lock } from "../../src/packages/model.ts";
import { PackageStore } from "../../src/packages/package-store.ts";
import { Packages } from "../../src/packages/packages.ts";
import type { PackagePolicy } from "../../src/packages/policy.ts";

/** A builder of packages that exist only as a list of versions. It stands for the real one where only its orders matter. */
export class FakeBuilder implements Builder {
  version = "1";
  readonly orders: BuildOrder[] = [];
  /** The versions of each package. */
  readonly versions: Record<string, string[]>;
  /** The bytes of each artefact. */
  bytes = 100;
  /** Whether the registry answers. */
  isOnline = true;
  /** Awaited by each build. */
  gate: Promise<void> = Promise.resolve();
  /** Changes what a build returns, as a builder that was taken over would. */
  forge: (built: Built) => Built = (built) => built;

  constructor(versions: Record<string, string[]>) {
    this.versions = structuredClone(versions);
  }

  async build(order: BuildOrder, signal: AbortSignal): Promise<Built> {
    this.orders.push(order);
    await Promise.race([this.gate, aborted(signal)]);
    if (!this.isOnline) throw new Problem("packages_unavailable", "the registry does not answer");
    const { set, from, update, requestedBy } = order;
    const roots = Object.entries(set.ranges).map(([name, range]): [string, string] => {
      const kept = from && !update.includes(name) ? from.roots[name]?.slice(name.length + 1) : undefined;
      const isKept = kept !== undefined && semver.satisfies(kept, range);
      const version = isKept ? kept : semver.maxSatisfying(this.versions[name] ?? [], range);
      if (version === null) throw new Problem("packages_not_found", `there is no ${name}@${range}`);
      return [name, `${name}@${version}`];
    });
    const packages = roots.map(([name, key]) => {
      const integrity = `sha512-${createHash("sha512").update(key).digest("base64")}`;
      return { name, version: key.slice(name.length + 1), integrity, dependencies: {} };
    });
    const parts = { ...set, roots: Object.fromEntries(roots), packages, builder: this.version };
    const lock: Lock = { ...parts, key: keyOfLock(parts), requestedBy, at: 0 };
    return this.forge({ lock, artefact: Buffer.alloc(this.bytes, JSON.stringify(roots)) });
  }

  transform(): Promise<string[]> {
    return Promise.reject(new Error("this builder transforms nothing"));
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}

export interface TestPackages {
  readonly packages: Packages;
  readonly builder: FakeBuilder;
  readonly store: PackageStore;
  readonly clock: { nowMs: number };
  readonly folder: string;
  /** Opens the same folder again, as after a restart. */
  readonly reopen: () => Packages;
}

/** Opens packages in a folder that ends with the test. */
export async function testPackages(
  t: TestContext,
  versions: Record<string, string[]>,
  options: { readonly maxBytes?: number; readonly maxCount?: number; readonly policy?: PackagePolicy } = {},
): Promise<TestPackages> {
  const { maxBytes = 2 ** 20, maxCount, policy = { mode: "any", allow: [] } } = options;
  const folder = await mkdtemp(path.join(tmpdir(), "caisson-packages-"));
  const builder = new FakeBuilder(versions);
  const clock = { nowMs: 1_800_000_000_000 };
  const open: PackageStore[] = [];
  const nowMs = (): number => clock.nowMs;
  const make = (): { store: PackageStore; packages: Packages } => {
    const store = PackageStore.open(path.join(folder, "packages.sqlite"));
    open.push(store);
    const artefacts = new Artefacts(path.join(folder, "packages"), store, { maxBytes, maxCount, nowMs });
    const queue = new BuildQueue(builder, { timeMs: 60_000, mostAtOnce: 2 });
    const bounds = { policy, minAgeMs: 0, nowMs, permitStore: store };
    return { store, packages: new Packages(store, artefacts, queue, bounds) };
  };
  t.after(async () => {
    for (const store of open) store.close();
    await rm(folder, { recursive: true });
  });
  const { store, packages } = make();
  return { packages, store, builder, clock, folder, reopen: () => make().packages };
}

async function aborted(signal: AbortSignal): Promise<never> {
  await once(signal, "abort");
  throw signal.reason;
}
