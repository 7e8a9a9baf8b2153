import { isAscii } from "node:buffer";
import vm from "node:vm";

import { packageSpecifier } from "../wire/npm-specifiers.ts";
import {
  type CacheOrder,
  decodePackages,
  SCRIPT_HEAD,
  SCRIPT_PARAMETERS,
  SCRIPT_TAIL,
} from "../wire/package-message.ts";
import { uncurry } from "../wire/uncurry.ts";
import { requireInPackage } from "./own-require.ts";
import { forgetPackageText, packageUrl, rememberPackageText } from "./package-frames.ts";
import { calledFunctions, compileFunctions } from "./package-functions.ts";
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
const { create, defineProperty, freeze, getOwnPropertyDescriptor, hasOwn, keys } = Object;
const isAsciiText = isAscii;
const toText = uncurry(Buffer.prototype as Buffer, "toString");
const { compileFunction, Script } = vm;
const runScript = uncurry(Script.prototype, "runInThisContext");
const makeCache = uncurry(Script.prototype, "createCachedData");
const getBuiltin = process.getBuiltinModule.bind(process);
const tag = Symbol.toStringTag;
const importModuleDynamically = vm.constants.USE_MAIN_CONTEXT_DEFAULT_LOADER;

const received = safeMap<number, Packages>();

/** @param payload the payload of a `packages` frame */
export function addPackages(id: number, payload: Buffer): void {
  const { script, cache } = decodePackages(payload);
  // A text of one byte per character takes half the memory. V8 keeps a long one outside of its heap.
  received.set(id, new Packages(id, toText(script, isAsciiText(script) ? "latin1" : "utf8"), cache));
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
  /** The text of the script. */
  readonly #text: string;
  /** The script that V8 has made from its code cache; null if there is none, or when it was executed. */
  #script: vm.Script | null;
  #entries: Entries | null = null;
  /** The objects whose members are the exports, by entry. */
  readonly #sources: Record<string, object> = create(null) as Record<string, object>;
  /** What imports and calls of `require` have received, by entry. */
  readonly #namespaces: Record<string, object> = create(null) as Record<string, object>;
  readonly #required: Record<string, unknown> = create(null) as Record<string, unknown>;

  /** @param cache V8's code cache of the script. Its bytes may be reused after this call. */
  constructor(id: number, text: string, cache: Buffer | null = null) {
    this.id = id;
    this.#text = text;
    this.#script = cache && fromCache(id, text, cache);
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

  /**
   * Returns an object with these exports of an entry, and evaluates the entry at the first call. No task may receive the object. Making a
   * namespace would take longer: zod exports some hundreds of names.
   *
   * @returns null if the entry does not have one of the names
   */
  exportsOf(entry: string, names: readonly string[]): object | null {
    const source = this.#source(entry);
    for (let index = 0; index < names.length; index += 1) {
      if (!getOwnPropertyDescriptor(source, names[index]!)?.enumerable) return null;
    }
    return source;
  }

  /** Returns the namespace that an import of an entry gives, and evaluates it at the first call. Throws what its modules throw. */
  namespace(entry: string): object {
    const known = this.#namespaces[entry];
    if (known) return known;
    const source = this.#source(entry);
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
   * Yields what an order asks for. A result of a generator is streamed, and may be longer than another result. A cache is code that
   * V8 trusts, so only a guest that has executed no submitted code and no package may receive an order for a cache.
   */
  *cached(order: CacheOrder): Generator<Buffer | string> {
    if (order === "called") yield JSON.stringify(calledFunctions(packageUrl(this.id), () => this.#evaluateAll()));
    else yield makeCache(order === null ? this.#compiledWhole() : this.#compiledWith(order));
  }

  #source(entry: string): object {
    return (this.#sources[entry] ??= this.#entry(entry)!.import?.() ?? namespaceOf(this.require(entry)));
  }

  #entry(entry: string): Entry | null {
    const entries = this.#loaded();
    const found = hasOwn(entries, entry) ? entries[entry]! : null;
    return isArray(found) ? null : (found as Entry | null);
  }

  /** Evaluates what each entry gives, whether it throws or not. */
  #evaluateAll(): void {
    for (const entry of this.entries) {
      const { import: imported, require: required } = this.#entry(entry)!;
      for (const evaluate of [imported, required]) {
        try {
          evaluate?.();
        } catch {
          // The import of a code will throw it.
        }
      }
    }
  }

  #compiledWhole(): vm.Script {
    const { setFlagsFromString } = getBuiltin("v8");
    setFlagsFromString("--no-lazy");
    const script = compiled(this.id, this.#text);
    // The cache contains the flags, and is good for guests with the same flags only.
    setFlagsFromString("--lazy");
    return script;
  }

  #compiledWith(ends: readonly number[]): vm.Script {
    // Only a text that is the body of a function is one function in the script. Any other could end it, and execute what follows.
    compileFunction(this.#text.slice(SCRIPT_HEAD.length, -SCRIPT_TAIL.length), SCRIPT_PARAMETERS);
    let script: vm.Script | null = null;
    compileFunctions(packageUrl(this.id), this.#text, ends, () => {
      script = compiled(this.id, this.#text);
      runScript(script);
    });
    return script!;
  }

  /** Compiles the artefact and evaluates its outermost scope, which only defines the modules. */
  #loaded(): Entries {
    if (this.#entries) return this.#entries;
    const script = this.#script ?? compiled(this.id, this.#text);
    this.#script = null;
    const evaluate = runScript(script) as EvaluateArtefact;
    const module = { exports: {} as unknown };
    evaluate(module, module.exports as object, requireInPackage);
    return (this.#entries = module.exports as Entries);
  }
}

function compiled(id: number, text: string, cachedData?: Buffer): vm.Script {
  const options = { filename: packageUrl(id), importModuleDynamically };
  return new Script(text, cachedData ? { ...options, cachedData } : options);
}

/** @returns null for a text that V8 rejects. A run of a code will show why. */
function fromCache(id: number, text: string, cache: Buffer): vm.Script | null {
  try {
    return compiled(id, text, cache);
  } catch {
    return null;
  }
}

/** Returns what an import of a CommonJS module gives. */
function namespaceOf(required: unknown): object {
  return typeof required === "object" || typeof required === "function"
    ? { ...required, default: required }
    : { default: required };
}
