import { isBuiltin } from "node:module";
import { posix } from "node:path";

import {
  build,
  type BuildOptions,
  type OnLoadResult,
  type OnResolveArgs,
  type OnResolveResult,
  type Plugin,
} from "esbuild";

import { artefactOfOne, withAsciiComments, withHelpers } from "./artefact-text.ts";
import { MAX_ARTEFACT_BYTES } from "./build-messages.ts";
import { withComputedNames } from "./computed-names.ts";
import { esbuildMessages } from "./esbuild-messages.ts";
import { type Conditions, IMPORT, REQUIRE } from "./exports.ts";
import { Failure } from "./failure.ts";
import { isModule, type Module, type Modules } from "./modules.ts";
import { nativeFailure } from "./unpacked.ts";

/** The namespaces of esbuild's module paths, which stand in the comments of the artefact. */
const ENTRY = "entry";
const NPM = "npm";
/** `require` waits for no module. */
const TOP_LEVEL_AWAIT = /top-level await/i;
/** The number of faults that a message shows. */
const SHOWN_FAULTS = 3;

const OPTIONS: BuildOptions = {
  absWorkingDir: "/",
  bundle: true,
  format: "cjs",
  platform: "node",
  target: "node24",
  // The comment above each module stays, because the guest reads from it which package a line belongs to.
  minifySyntax: true,
  // Code that looks at the name of a class or a function finds its own.
  keepNames: true,
  legalComments: "none",
  treeShaking: true,
  write: false,
  logLevel: "silent",
  define: {
    "process.env.NODE_ENV": '"production"',
    // There are no files, but the names must be paths.
    "import.meta.url": '"file:///npm/module.js"',
    "import.meta.dirname": '"/npm"',
    "import.meta.filename": '"/npm/module.js"',
    __dirname: '"/npm"',
    __filename: '"/npm/module.js"',
  },
};

/**
 * Bundles the entries into one CommonJS module. It exports an object with a member for each entry, which has `import`, `require` or both:
 * functions that evaluate the entry and return what each of the two gives in Node. Most packages have other files for each of the two,
 * so a set whose code requires nothing has half the size. The member of an entry that its package does not have lists the entries of the package.
 *
 * @param entries `zod` for import, `require:zod` for require.
 * @throws {Failure}
 */
export async function bundled(entries: readonly string[], modules: Modules): Promise<Uint8Array> {
  for (const entry of entries) requireModule(plainEntry(entry), modules);
  const found = entries.filter((entry) => foundEntry(plainEntry(entry), modules) !== null);
  const missing = missingOf(entries, modules);
  const whole = new InMemory(found, missing, modules);
  try {
    return await bundledBy(whole);
  } catch (error) {
    if (!whole.hasComputedNames || !(error instanceof Failure)) throw error;
  }
  // Folders of packages also have files that no code can load, such as tests.
  return await bundledBy(new InMemory(found, missing, modules, false));
}

/** @throws {Failure} */
async function bundledBy(plugin: InMemory): Promise<Uint8Array> {
  try {
    const { outputFiles } = await build({ ...OPTIONS, entryPoints: [ENTRY], plugins: [plugin.plugin] });
    const whole = withAsciiComments(withHelpers(outputFiles![0]!.contents));
    const contents = plugin.only === null ? whole : artefactOfOne(plugin.only, whole);
    if (contents.length <= MAX_ARTEFACT_BYTES) return contents;
  } catch (error) {
    const messages = esbuildMessages(error);
    if (plugin.failure) throw plugin.failure;
    if (!messages) throw error;
    const faults = messages.slice(0, SHOWN_FAULTS).map(({ text: theirs, location }) => {
      const text = TOP_LEVEL_AWAIT.test(theirs) ? "top-level await is not supported in packages" : theirs;
      return location ? `${location.file.replace(/^npm:/, "")}:${location.line}: ${text}` : text;
    });
    throw new Failure("packages_failed", faults.join("; "));
  }
  const limit = MAX_ARTEFACT_BYTES / 2 ** 20;
  throw new Failure("packages_too_large", `the bundled packages have more than ${limit} MiB of code`);
}

/** An entry that a package has for neither of the two is left out: the scan that names entries also finds strings that are none. */
function foundEntry(entry: string, modules: Modules): Module | null {
  return modules.entry(entry, IMPORT) ?? modules.entry(entry, REQUIRE);
}

/** Returns the entries that a package does not have, each with those that the package has. */
function missingOf(entries: readonly string[], modules: Modules): ReadonlyMap<string, readonly string[]> {
  const missing = [...new Set(entries.map(plainEntry))].filter((entry) => foundEntry(entry, modules) === null);
  return new Map(missing.map((entry) => [entry, modules.entriesInstead(entry)]));
}

const REQUIRED = "require:";

function plainEntry(entry: string): string {
  return entry.startsWith(REQUIRED) ? entry.slice(REQUIRED.length) : entry;
}

function requireModule(entry: string, modules: Modules): void {
  const isPackage = /^(?:@[^/]+\/)?[^/]+$/.test(entry);
  // Its importers may erase the import, and it may stand only in a list of dependencies.
  if (!isPackage || foundEntry(entry, modules) || modules.hasOnlyTypes(entry)) return;
  const detail = `the package ${entry} has no module with its own name`;
  throw new Failure("packages_failed", detail, "Import one of its sub-paths.");
}

/** Gives esbuild the modules of packages, which are in memory. */
class InMemory {
  /** The first failure that is not a message of esbuild. */
  failure: Failure | null = null;
  readonly plugin: Plugin;
  /** The only entry, if nothing requires it. Then the bundle is its namespace, and no object with functions. */
  readonly only: string | null;
  readonly #entries: readonly string[];
  readonly #missing: ReadonlyMap<string, readonly string[]>;
  readonly #modules: Modules;
  readonly #isWhole: boolean;
  readonly #known: Map<string, Module> = new Map();
  /** Whether a module requires or imports files by names that it computes. */
  hasComputedNames = false;

  /** @param isWhole whether such files become a part of the artefact */
  constructor(
    entries: readonly string[],
    missing: ReadonlyMap<string, readonly string[]>,
    modules: Modules,
    isWhole: boolean = true,
  ) {
    this.#isWhole = isWhole;
    this.only = entries.length === 1 && missing.size === 0 && !entries[0]!.startsWith(REQUIRED) ? entries[0]! : null;
    this.#entries = entries;
    this.#missing = missing;
    this.#modules = modules;
    this.plugin = {
      name: "in-memory",
      setup: (bundler) => {
        bundler.onResolve({ filter: /./ }, (args) => this.#resolve(args));
        bundler.onLoad({ filter: /./, namespace: ENTRY }, ({ path }) => ({
          contents: this.#entryText(path),
          loader: "js",
        }));
        bundler.onLoad({ filter: /./, namespace: NPM }, ({ path }) => this.#textOf(this.#known.get(path)!));
      },
    };
  }

  #textOf(module: Module): OnLoadResult {
    const { pack, file } = module;
    const loader = loaderOf(file);
    if (loader === null) {
      const text = `it imports ${file} of ${pack.key}, and packages can import only JavaScript, TypeScript, JSON and .txt`;
      return { errors: [{ text }] };
    }
    const computed = loader === "js" ? withComputedNames(module, this.#isWhole) : null;
    if (computed) this.hasComputedNames = true;
    return { contents: computed ?? pack.files.get(file)!, loader };
  }

  /** Returns the text of the synthetic entry, or of a module that imports one entry of the order. */
  #entryText(path: string): string {
    if (path !== ENTRY) {
      const entry = JSON.stringify(this.only ?? path.slice(0, -EXTENSION.length));
      // For a CommonJS module, a namespace has the members of `module.exports`, and it as the default.
      return `import * as namespace from ${entry}; export { namespace };`;
    }
    const wanted = new Set(this.#entries);
    const members = [...new Set(this.#entries.map(plainEntry))].map((entry) => {
      const name = JSON.stringify(entry);
      const ways = [
        wanted.has(entry) ? `import: () => require(${JSON.stringify(`import:${entry}`)}).namespace` : "",
        wanted.has(REQUIRED + entry) ? `require: () => require(${name})` : "",
      ];
      return `${name}: { __proto__: null, ${ways.filter((way) => way !== "").join(", ")} }`;
    });
    // For the error of the import that names it.
    for (const [entry, others] of this.#missing) members.push(`${JSON.stringify(entry)}: ${JSON.stringify(others)}`);
    return `module.exports = { __proto__: null, ${members.join(", ")} };`;
  }

  #resolve({ path, importer, namespace, kind }: OnResolveArgs): OnResolveResult {
    // The only entry imports its package, and by this name esbuild applies Node's rule for the default export of CommonJS.
    if (kind === "entry-point") return { path: this.only === null ? ENTRY : ENTRY + EXTENSION, namespace: ENTRY };
    const conditions = kind === "require-call" || kind === "require-resolve" ? REQUIRE : IMPORT;
    if (namespace === ENTRY) {
      if (path.startsWith("import:")) return { path: path.slice("import:".length) + EXTENSION, namespace: ENTRY };
      // A package that offers only one of the two serves for both.
      const module = this.#modules.entry(path, conditions) ?? foundEntry(path, this.#modules);
      return this.#resultOf(module!);
    }
    if (isBuiltin(path)) return { path, external: true };
    const from = this.#known.get(importer)!;
    const module = this.#find(from, path, conditions);
    if (module) return this.#resultOf(module);
    if (path.endsWith(".node")) return this.#fail(nativeFailure(from.pack.key));
    // An optional package that is not there throws when the code that needs it is evaluated, as in Node.
    const isOptional = kind !== "import-statement" || !/^[./#]/.test(path);
    return isOptional ? { path, external: true } : { errors: [{ text: `${path} does not exist in ${from.pack.key}` }] };
  }

  /** A package may offer a module only for the other conditions, and bundlers accept that. */
  #find(from: Module, path: string, conditions: Conditions): Module | null {
    return (
      this.#modules.from(from, path, conditions) ??
      this.#modules.from(from, path, conditions === IMPORT ? REQUIRE : IMPORT)
    );
  }

  #resultOf(module: Module): OnResolveResult {
    const { pack, file } = module;
    if (file.endsWith(".node")) return this.#fail(nativeFailure(pack.key));
    // By this name of an importing file, esbuild applies Node's rule for the default export of CommonJS.
    const path = `${pack.key}/${file}${file.endsWith(".js") && isModule(module) ? EXTENSION : ""}`;
    this.#known.set(path, module);
    return { path, namespace: NPM, ...(isPure(module) ? { sideEffects: false } : {}) };
  }

  #fail(failure: Failure): OnResolveResult {
    this.failure ??= failure;
    return { errors: [{ text: failure.message }] };
  }
}

/** The extension of modules that Node reads as ES modules. */
const EXTENSION = ".mjs";

/** Whether nothing happens when a module is not evaluated because nothing of it is used. */
function isPure({ pack }: Module): boolean {
  const { manifest } = pack as { manifest: { sideEffects?: unknown } | null };
  return typeof manifest === "object" && manifest !== null && manifest.sideEffects === false;
}

/** The extensions that esbuild reads by its own rules. */
const BY_EXTENSION = [".jsx", ".ts", ".tsx", ".cts", ".mts", ".txt"];

/** @returns null for a file that no guest can load, such as a style sheet or WebAssembly */
function loaderOf(file: string): "js" | "json" | "default" | null {
  const extension = posix.extname(file);
  if (extension === ".json") return "json";
  // A program of a package has no extension.
  if ([".js", ".cjs", ".mjs", ""].includes(extension)) return "js";
  return BY_EXTENSION.includes(extension) ? "default" : null;
}
