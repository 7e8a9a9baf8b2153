import { createHash } from "node:crypto";

import { type BuiltPackage, MAX_UNPACKED_BYTES } from "./build-messages.ts";
import { Failure } from "./failure.ts";
import { fetchPackument, fetchTarball } from "./fetch-package.ts";
import { own, Packument } from "./packument.ts";
import { keyOf, type Picked, type Resolution } from "./resolve.ts";
import { untar } from "./untar.ts";

/** A package in memory. */
export interface Package {
  readonly key: string;
  readonly name: string;
  readonly version: string;
  readonly files: ReadonlyMap<string, Buffer>;
  /** The content of `package.json`, as far as it is an object. It is hostile. */
  readonly manifest: unknown;
  readonly dependencies: ReadonlyMap<string, string>;
}

export interface Unpacked {
  /** By `name@version`. */
  readonly packages: ReadonlyMap<string, Package>;
  readonly locked: readonly BuiltPackage[];
}

/** The programs that compile native addons, or fetch compiled ones, when a package is installed. */
const NATIVE_SCRIPT = /\b(?:node-gyp|node-pre-gyp|prebuild-install|node-gyp-build|cmake-js|prebuildify)\b/;

/**
 * Fetches, checks and unpacks all packages. No script of a package runs, now or later.
 *
 * @throws {Failure}
 */
export async function unpacked({ packages }: Resolution): Promise<Unpacked> {
  const picked = [...packages.values()].toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
  const fetched = picked.map(fetchArchive);
  for (const each of fetched) each.catch(() => {});
  const unpackedPackages = new Map<string, Package>();
  const locked: BuiltPackage[] = [];
  let left = MAX_UNPACKED_BYTES;
  for (const [index, each] of picked.entries()) {
    const archive = await fetched[index]!;
    const key = keyOf(each);
    const { name, version } = each;
    const integrity = checked(archive, each);
    const files = await untar(archive, key, left);
    for (const content of files.values()) left -= content.length;
    const manifest = manifestOf(files, key);
    refuseNative(files, manifest, key);
    unpackedPackages.set(key, { key, name, version, files, manifest, dependencies: each.dependencies });
    locked.push({ name, version, integrity, dependencies: sorted(each.dependencies) });
  }
  return { packages: unpackedPackages, locked };
}

/** Fetches a tarball. The proxy refuses a path that is not one of this package. */
async function fetchArchive({ name, version, tarball }: Picked): Promise<Buffer> {
  if (tarball !== null) return await fetchTarball(name, version, tarball);
  try {
    return await fetchTarball(name, version, `${name}/-/${name.replace(/^@[^/]*\//, "")}-${version}.tgz`);
  } catch (error) {
    if (!(error instanceof Failure) || error.code !== "packages_not_found") throw error;
    // Some registries have tarballs at places that only their descriptions state.
    const packument = new Packument(name, await fetchPackument(name, false), null);
    return await fetchTarball(name, version, packument.version(version).tarball);
  }
}

/** Returns the SHA-512 of an archive. @throws {Failure} if the registry or the lock names other bytes. */
function checked(archive: Buffer, { name, version, integrity }: Picked): string {
  const sha512 = `sha512-${createHash("sha512").update(archive).digest("base64")}`;
  const actual = integrity?.startsWith("sha1-")
    ? `sha1-${createHash("sha1").update(archive).digest("base64")}`
    : sha512;
  if (integrity === null || integrity === actual) return sha512;
  const detail = `the tarball of ${name}@${version} has other bytes than the registry or the lock states`;
  throw new Failure("packages_failed", detail, "The registry may have been changed. Tell its operator.");
}

function manifestOf(files: ReadonlyMap<string, Buffer>, key: string): unknown {
  const content = files.get("package.json");
  if (!content) throw new Failure("packages_failed", `${key} has no package.json`);
  try {
    return JSON.parse(content.toString("utf8").replace(/^\uFEFF/, "")) as unknown;
  } catch {
    throw new Failure("packages_failed", `the package.json of ${key} is not JSON`);
  }
}

function refuseNative(files: ReadonlyMap<string, Buffer>, manifest: unknown, key: string): void {
  const scripts = own(manifest, "scripts");
  const texts = ["install", "preinstall", "postinstall"].map((name) => own(scripts, name));
  const isNative =
    own(manifest, "gypfile") === true ||
    files.has("binding.gyp") ||
    texts.some((text) => typeof text === "string" && NATIVE_SCRIPT.test(text)) ||
    [...files.keys()].some((path) => path.endsWith(".node"));
  if (isNative) throw nativeFailure(key);
}

export function nativeFailure(key: string): Failure {
  return new Failure(
    "packages_native",
    `${key} has a native addon`,
    "Use a package that is JavaScript or WebAssembly.",
  );
}

function sorted(dependencies: ReadonlyMap<string, string>): Record<string, string> {
  return Object.fromEntries([...dependencies].toSorted(([a], [b]) => (a < b ? -1 : 1)));
}
