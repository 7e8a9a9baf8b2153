import { posix } from "node:path";

import { type Conditions, exportTarget, IMPORT, importTarget, REQUIRE } from "./exports.ts";
import { own } from "./packument.ts";
import type { Package, Unpacked } from "./unpacked.ts";

/** A file of a package. */
export interface Module {
  readonly pack: Package;
  /** The path in the package, without `./`. */
  readonly file: string;
}

const EXTENSIONS = ["", ".js", ".json", ".node", ".cjs", ".mjs"];
const INDEX = ["/index.js", "/index.json", "/index.node"];

/** A sub-path of `exports` that is not a pattern. Its length is bounded, because an error repeats it. */
const STATED = /^\.(?:\/[\w.@-]{1,40}){0,4}$/;
const MAX_STATED = 20;

/** Resolves specifiers as Node does, in packages that are in memory. */
export class Modules {
  readonly #packages: Unpacked["packages"];
  readonly #roots: ReadonlyMap<string, string>;

  constructor(packages: Unpacked["packages"], roots: ReadonlyMap<string, string>) {
    this.#packages = packages;
    this.#roots = roots;
  }

  /** Resolves an entry such as `zod/mini`. @returns null if the package has no such module. */
  entry(specifier: string, conditions: Conditions): Module | null {
    const { name, subpath } = partsOf(specifier);
    const pack = this.#packages.get(this.#roots.get(name) ?? "");
    return pack ? this.#inPackage(pack, subpath, conditions) : null;
  }

  /** Whether a package of the order has no code, such as `@types/node`. */
  hasOnlyTypes(name: string): boolean {
    const files = [...(this.#packages.get(this.#roots.get(name) ?? "")?.files.keys() ?? [])];
    const isTyped = files.some((file) => /\.d\.[cm]?ts$/.test(file));
    return isTyped && !files.some((file) => /\.(?:[cm]?js|wasm|node)$/.test(file));
  }

  /** Returns the entries that a package states, such as `zod` and `zod/mini`, for an entry that it does not have; none if it states none. */
  entriesInstead(specifier: string): string[] {
    const { name } = partsOf(specifier);
    const pack = this.#packages.get(this.#roots.get(name) ?? "");
    const exported = pack && own(pack.manifest, "exports");
    if (typeof exported !== "object" || exported === null) return [];
    const subpaths = Object.keys(exported).filter((key) => STATED.test(key) && key !== "./package.json");
    const entries = subpaths.map((subpath) => name + subpath.slice(1));
    return entries.filter((entry) => this.entry(entry, IMPORT) ?? this.entry(entry, REQUIRE)).slice(0, MAX_STATED);
  }

  /** Resolves what a module imports. @returns null if there is no such module. */
  from(importer: Module, specifier: string, conditions: Conditions): Module | null {
    const { pack, file } = importer;
    if (isRelative(specifier)) return fileOf(pack, posix.join(posix.dirname(file), specifier));
    if (specifier.startsWith("#")) return this.#internal(pack, specifier, conditions);
    const { name, subpath } = partsOf(specifier);
    if (name === pack.name && own(pack.manifest, "exports") !== undefined) {
      return this.#inPackage(pack, subpath, conditions);
    }
    const folder = bundledFolder(importer, name);
    if (folder !== null) return inFolder(pack, folder, subpath, conditions);
    const other = this.#visible(pack, name);
    return other ? this.#inPackage(other, subpath, conditions) : null;
  }

  /** Returns the package that a package finds by a name. Some packages forget to declare what they import, and rely on hoisting. */
  #visible(pack: Package, name: string): Package | undefined {
    const key = pack.dependencies.get(name) ?? this.#roots.get(name);
    if (key !== undefined) return this.#packages.get(key);
    return [...this.#packages.values()].find((each) => each.name === name);
  }

  #internal(pack: Package, specifier: string, conditions: Conditions): Module | null {
    const target = importTarget(own(pack.manifest, "imports"), specifier, conditions, pack.key);
    if (target === null) return null;
    if (target.startsWith("./")) return exactFile(pack, target);
    const { name, subpath } = partsOf(target);
    const other = this.#visible(pack, name);
    return other ? this.#inPackage(other, subpath, conditions) : null;
  }

  /** @param subpath such as `.` or `./mini` */
  #inPackage(pack: Package, subpath: string, conditions: Conditions): Module | null {
    return inFolder(pack, ".", subpath, conditions);
  }
}

/** Resolves a sub-path in a folder of a package that is a package itself. The package itself is the folder `.`. */
function inFolder(pack: Package, folder: string, subpath: string, conditions: Conditions): Module | null {
  const manifest = folder === "." ? pack.manifest : nestedManifest(pack, `${folder}/package.json`);
  const exported = own(manifest, "exports");
  if (exported !== undefined && exported !== null) {
    const target = exportTarget(exported, subpath, conditions, pack.key);
    return target?.startsWith("./") ? exactFile(pack, posix.join(folder, target)) : null;
  }
  return fileOf(pack, posix.join(folder, subpath));
}

/** Returns the nearest folder in the archive of a package that has a package which a module imports, or null. */
function bundledFolder({ pack: { files }, file }: Module, name: string): string | null {
  for (let folder = posix.dirname(file); ; folder = posix.dirname(folder)) {
    const found = posix.join(folder, "node_modules", name);
    if (files.has(`${found}/package.json`)) return found;
    if (folder === ".") return null;
  }
}

/** Whether Node reads a file as an ES module by its name, or by the `type` of the nearest package.json. */
export function isModule({ pack, file }: Module): boolean {
  if (!file.endsWith(".js")) return file.endsWith(".mjs");
  for (let folder = posix.dirname(file); ; folder = posix.dirname(folder)) {
    const manifest = folder === "." ? pack.manifest : nestedManifest(pack, `${folder}/package.json`);
    if (manifest !== undefined) return own(manifest, "type") === "module";
    if (folder === ".") return false;
  }
}

/** The parsed package.json files below those of the packages. Each import asks for some, and one may have megabytes. */
const nested = new WeakMap<Buffer, unknown>();

function nestedManifest({ files }: Package, path: string): unknown {
  const content = files.get(path);
  if (!content) return undefined;
  if (!nested.has(content)) nested.set(content, parsed(content));
  return nested.get(content);
}

function parsed(content: Buffer): unknown {
  try {
    return JSON.parse(content.toString()) as unknown;
  } catch {
    return {};
  }
}

function isRelative(specifier: string): boolean {
  return /^\.{1,2}(?:\/|$)/.test(specifier);
}

function partsOf(specifier: string): { name: string; subpath: string } {
  const [, name = specifier, rest = ""] = /^((?:@[^/]*\/)?[^/]*)(\/.*)?$/s.exec(specifier) ?? [];
  return { name, subpath: rest === "" || rest === "/" ? "." : `.${rest}` };
}

/** A target of `exports` is a path without any search. */
function exactFile(pack: Package, target: string): Module | null {
  const file = posix.normalize(target);
  return pack.files.has(file) ? { pack, file } : null;
}

/** Finds a file with Node's search of `require`: an extension, the `main` of a folder, or its index. */
function fileOf(pack: Package, path: string): Module | null {
  const base = path.replace(/\/+$/, "");
  if (base === ".." || base.startsWith("../")) return null;
  if (!path.endsWith("/")) {
    for (const extension of EXTENSIONS) if (pack.files.has(base + extension)) return { pack, file: base + extension };
  }
  const isRoot = base === "." || base === "";
  const main = own(isRoot ? pack.manifest : nestedManifest(pack, `${base}/package.json`), "main");
  if (typeof main === "string" && main !== "" && main !== ".") {
    const file = posix.join(base, main).replace(/\/+$/, "");
    for (const end of [...EXTENSIONS, ...INDEX]) if (pack.files.has(file + end)) return { pack, file: file + end };
  }
  const folder = isRoot ? "" : `${base}/`;
  const index = INDEX.map((end) => folder + end.slice(1)).find((file) => pack.files.has(file));
  return index === undefined ? null : { pack, file: index };
}
