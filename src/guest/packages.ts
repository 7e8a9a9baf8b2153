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

type Entries = Readonly<Record<string, Entry>>;
type EvaluateArtefact = (
  module: { exports: unknown },
  exports: object,
  require: (specifier: string) => unknown,
) => void;

const { create, defineProperty, freeze, hasOwn, keys } = Object;
const isAsciiText = isAscii;
const toText = uncurry(Buffer.prototype as Buffer, "toString");
const { compileFunction } = vm;
const tag = Symbol.toStringTag;
const importModuleDynamically = vm.constants.USE_MAIN_CONTEXT_DEFAULT_LOADER;

const received = safeMap<number, Packages>();

/** @param payload the payload of a `packages` frame */
export function addPackages(id: number, payload: Buffer): void {
  // A text of one byte per character takes half the memory. V8 keeps a long one outside of its heap.
  received.set(id, new Packages(id, toText(payload, isAsciiText(payload) ? "latin1" : "utf8")));
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
  #entries: Entries | null = null;
  /** What imports and calls of `require` have received, by entry. */
  readonly #namespaces: Record<string, object> = create(null) as Record<string, object>;
  readonly #required: Record<string, unknown> = create(null) as Record<string, unknown>;

  constructor(id: number, text: string) {
    this.id = id;
    this.#text = text;
    rememberPackageText(id, text);
  }

  /** The specifiers of all entries. */
  get entries(): readonly string[] {
    return keys(this.#loaded());
  }

  /** Returns the entry that a specifier names, with or without `npm:`; null if these packages do not have it. */
  entryOf(specifier: string): string | null {
    const named = packageSpecifier(specifier);
    return named && hasOwn(this.#loaded(), named.entry) ? named.entry : null;
  }

  /** Whether the text has one of these words. Takes milliseconds for a long text. */
  hasWord(words: RegExp): boolean {
    return words.test(this.#text);
  }

  /** Returns the namespace that an import of an entry gives, and evaluates it at the first call. Throws what its modules throw. */
  namespace(entry: string): object {
    const known = this.#namespaces[entry];
    if (known) return known;
    const source = this.#loaded()[entry]!.import?.() ?? namespaceOf(this.require(entry));
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
    const { require } = this.#loaded()[entry]!;
    // As Node, which gives the namespace of an ES module to `require`.
    return (this.#required[entry] = require ? require() : this.namespace(entry));
  }

  /** Frees the text that names their modules in stacks. */
  forget(): void {
    forgetPackageText(this.id);
  }

  /** Compiles the artefact and evaluates its outermost scope, which only defines the modules. */
  #loaded(): Entries {
    if (this.#entries) return this.#entries;
    const options = { filename: packageUrl(this.id), importModuleDynamically };
    const evaluate = compileFunction(this.#text, ["module", "exports", "require"], options) as EvaluateArtefact;
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
