import { isAscii } from "node:buffer";
import vm from "node:vm";

import { packageSpecifier } from "../wire/npm-specifiers.ts";
import { uncurry } from "../wire/uncurry.ts";
import { requireInPackage } from "./own-require.ts";
import { forgetPackageText, packageUrl, rememberPackageText } from "./package-frames.ts";
import { safeMap } from "./safe-map.ts";

/**
 * The packages that codes import. The service builds them, with all their dependencies, into one text: the artefact, a
 * CommonJS module whose exports are the entries. A guest receives an artefact once. All codes that name the same packages
 * share it with its state, as they would share the modules of one Node process.
 */

/**
 * One entry of an artefact, such as `zod/mini`: what `import` and what `require` give. Each evaluates modules at its first
 * call. A text in which the word `require` does not stand needs only the first.
 */
interface Entry {
  readonly import?: () => object;
  readonly require?: () => unknown;
}

/** An entry that a package does not have lists the entries of the package. */
type Entries = Readonly<Record<string, Entry | readonly string[]>>;
type EvaluateArtefact = (
  module: { exports: unknown },
  exports: object,
  require: (specifier: string) => unknown,
) => void;

const { isArray } = Array;
const { create, defineProperty, freeze, hasOwn, keys } = Object;
const isAsciiText = isAscii;
const toText = uncurry(Buffer.prototype as Buffer, "toString");
const readUInt32LE = uncurry(Buffer.prototype as Buffer, "readUInt32LE");
const subarray = uncurry(Buffer.prototype as Buffer, "subarray");
const copyOf = Buffer.from.bind(Buffer) as (bytes: Buffer) => Buffer;
const { Script } = vm;
const runScript = uncurry(Script.prototype, "runInThisContext");
const makeCache = uncurry(Script.prototype, "createCachedData");
const getBuiltin = process.getBuiltinModule.bind(process);
const LENGTH_BYTES = 4;
const HEAD = "(function (module, exports, require) {";
const TAIL = "\n})";
const tag = Symbol.toStringTag;
const importModuleDynamically = vm.constants.USE_MAIN_CONTEXT_DEFAULT_LOADER;

const received = safeMap<number, Packages>();

/** @param payload the payload of a `packages` frame */
export function addPackages(id: number, payload: Buffer): void {
  const end = LENGTH_BYTES + readUInt32LE(payload, 0);
  const artefact = subarray(payload, LENGTH_BYTES, end);
  // A text of one byte per character takes half the memory. V8 keeps a long one outside of its heap.
  const text = toText(artefact, isAsciiText(artefact) ? "latin1" : "utf8");
  // Copied, because the bytes of the frame are reused.
  received.set(id, new Packages(id, text, end < payload.length ? copyOf(subarray(payload, end)) : null));
}

/** Returns the packages; throws if they were not sent. */
export function packagesOf(id: number): Packages {
  const found = received.get(id);
  if (!found) throw new TypeError(`a code names the packages ${id}, which were not sent`);
  return found;
}

export function dropPackages(id: number): Packages | null {
  const found = received.get(id) ?? null;
  received.delete(id);
  return found;
}

/** The packages of one artefact. */
export class Packages {
  readonly id: number;
  readonly #text: string;
  /** V8's code cache of the text; null if there is none, or when V8 has read it. */
  #cache: Buffer | null;
  #entries: Entries | null = null;
  /** What imports and calls of `require` have received, by entry. */
  readonly #namespaces: Record<string, object> = create(null) as Record<string, object>;
  readonly #required: Record<string, unknown> = create(null) as Record<string, unknown>;

  constructor(id: number, text: string, cache: Buffer | null = null) {
    this.id = id;
    this.#cache = cache;
    this.#text = text;
    rememberPackageText(id, text);
  }

  /** The specifiers of all entries. */
  get entries(): readonly string[] {
    const all = keys(this.#loaded());
    const found: string[] = [];
    for (let index = 0; index < all.length; index += 1) {
      if (this.#entry(all[index]!) !== null) found[found.length] = all[index]!;
    }
    return found;
  }

  /** Returns the entry that a specifier names, with or without `npm:`; null if these packages do not have it. */
  entryOf(specifier: string): string | null {
    const named = packageSpecifier(specifier);
    return named && this.#entry(named.entry) !== null ? named.entry : null;
  }

  /** Returns the entries that a package has, for a specifier of one that it does not have; null for any other specifier. */
  entriesInstead(specifier: string): readonly string[] | null {
    const entry = packageSpecifier(specifier)?.entry;
    const entries = this.#loaded();
    if (entry === undefined || !hasOwn(entries, entry)) return null;
    const found = entries[entry]!;
    return isArray(found) ? (found as readonly string[]) : null;
  }

  /** Whether the text has one of these words. Takes milliseconds for a long text. */
  hasWord(words: RegExp): boolean {
    return words.test(this.#text);
  }

  /** Returns the namespace that an import of an entry gives, and evaluates it at the first call. Throws what its modules throw. */
  namespace(entry: string): object {
    const known = this.#namespaces[entry];
    if (known) return known;
    const source = this.#entry(entry)!.import?.() ?? namespaceOf(this.require(entry));
    // As the namespace of a module: no task can change what the other codes import, and the members follow the exports.
    const namespace = { __proto__: null, [tag]: "Module" };
    const names = keys(source);
    for (let index = 0; index < names.length; index += 1) {
      const name = names[index]!;
      defineProperty(namespace, name, { enumerable: true, get: () => (source as Record<string, unknown>)[name] });
    }
    defineProperty(namespace, tag, { enumerable: false });
    return (this.#namespaces[entry] = freeze(namespace));
  }

  /** Returns what `require` of an entry gives, and evaluates it at the first call. Throws what its modules throw. */
  require(entry: string): unknown {
    if (hasOwn(this.#required, entry)) return this.#required[entry];
    const { require } = this.#entry(entry)!;
    // As Node, which gives the namespace of an ES module to `require`.
    return (this.#required[entry] = require ? require() : this.namespace(entry));
  }

  /** Frees the text that names their modules in stacks. */
  forget(): void {
    forgetPackageText(this.id);
  }

  /**
   * Yields V8's code cache with all functions of the artefact, and evaluates none of them. A result of a generator is streamed,
   * and may be longer than another result. A cache is code that V8 trusts, so
   * call it only in a guest that has executed no submitted code and no package.
   */
  *codeCache(): Generator<Buffer> {
    const { setFlagsFromString } = getBuiltin("v8");
    setFlagsFromString("--no-lazy");
    const script = this.#compiled();
    // The cache contains the flags, and is good for guests with the same flags only.
    setFlagsFromString("--lazy");
    yield makeCache(script);
  }

  #entry(entry: string): Entry | null {
    const entries = this.#loaded();
    const found = hasOwn(entries, entry) ? entries[entry]! : null;
    return isArray(found) ? null : (found as Entry | null);
  }

  #compiled(): vm.Script {
    const cachedData = this.#cache;
    this.#cache = null;
    const options = { filename: packageUrl(this.id), importModuleDynamically };
    return new Script(HEAD + this.#text + TAIL, cachedData ? { ...options, cachedData } : options);
  }

  /** Compiles the artefact and evaluates its outermost scope, which only defines the modules. */
  #loaded(): Entries {
    if (this.#entries) return this.#entries;
    const evaluate = runScript(this.#compiled()) as EvaluateArtefact;
    const module = { exports: {} as unknown };
    evaluate(module, module.exports as object, requireInPackage);
    return (this.#entries = module.exports as Entries);
  }
}

/** Returns what an import of a CommonJS module gives. */
function namespaceOf(required: unknown): object {
  return typeof required === "object" || typeof required === "function"
    ? { ...required, default: required }
    : { default: required };
}
