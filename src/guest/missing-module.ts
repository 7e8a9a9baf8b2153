import { builtinModules } from "node:module";

import { distance } from "../wire/distance.ts";
import type { FaultMessage } from "../wire/messages.ts";
import { packageSpecifier } from "../wire/npm-specifiers.ts";
import { lowerCaseOf, popularNear } from "../wire/popular-packages.ts";
import { ofOtherRuntime, replacedHint } from "./known-packages.ts";

const { stringify } = JSON;

/** What a `MissingModule` is about. */
interface About {
  readonly specifier: string;
  readonly parent: string;
  readonly available: readonly string[] | null;
  readonly stated?: readonly string[] | null;
}

/** The error for an import of a module that does not exist or cannot work here. Libraries look for its code. */
export class MissingModule extends Error {
  readonly code: "ERR_MODULE_NOT_FOUND" | "MODULE_NOT_FOUND";
  readonly #specifier: string;
  readonly #parent: string;
  readonly #similar: string | null;
  readonly #available: readonly string[];
  readonly #stated: readonly string[] | null;

  /**
   * @param parent The URL of the text that imports it; empty if it is unknown.
   * @param available The specifiers of the submitted modules and of the packages; null if no other module is meant.
   * @param stated The entries that a package has, if it is a package that does not have the specifier.
   */
  constructor(message: string, code: MissingModule["code"], { specifier, parent, available, stated = null }: About) {
    super(message);
    this.code = code;
    this.#specifier = specifier;
    this.#parent = parent;
    const entry = packageSpecifier(specifier)?.entry ?? specifier;
    this.#similar = stated
      ? similarTo(entry, stated)
      : available && (withoutDot(specifier, this.importer, available) ?? similarTo(specifier, available));
    this.#stated = stated;
    this.#available = available ?? [];
  }

  /** Unlike `instanceof`, does not call traps of a thrown Proxy. */
  static is(error: unknown): error is MissingModule {
    return typeof error === "object" && error !== null && #specifier in error;
  }

  get specifier(): string {
    return this.#specifier;
  }

  /** The name of the text that imports it, such as `task.js`; empty if it is unknown. */
  get importer(): string {
    return /^task:\/[\d.]+\/(.*)$/.exec(this.#parent)?.[1] ?? "";
  }

  /** How the code can get the module, if its name is that of a package; otherwise undefined. */
  get hint(): string | undefined {
    const named = packageSpecifier(this.#specifier);
    const other = ofOtherRuntime(this.#specifier);
    if (other !== undefined) return other;
    if (this.#specifier.startsWith("npm:") && !(named && mayBeRange(named.range))) {
      return "Name a package, and a version, a range or a tag if it is not the newest: npm:zod, npm:zod@^4, npm:@acme/tools@2/parse.";
    }
    if (FILE.test(this.#specifier))
      return `A file is imported by its relative name: import "./${this.#specifier}", and send it with the code, as {"code": "...", "modules": {"./${this.#specifier}": "..."}}.`;
    if (!named) return hintOfRange(this.#specifier);
    const { name, range, entry } = named;
    if (this.#stated) {
      if (this.#stated.length > 0) return "Import one of these entries.";
      return entry === name
        ? "The package has only types: import type needs no package."
        : `Import the package: ${name}.`;
    }
    for (let index = 0; index < this.#available.length; index += 1) {
      if (packageSpecifier(this.#available[index]!)?.name !== name) continue;
      return `The code has the package ${name}, and not "${entry}". Check the name, and write it as a text in the code: a computed name is not found before the run.`;
    }
    const replaced = replacedHint(entry);
    if (replaced !== undefined) return replaced;
    const lower = lowerCaseOf(name);
    if (lower !== null)
      return `npm has names in lower case; did you mean ${lower}? ${adds(lower, range === "" ? "*" : range, lower + entry.slice(name.length))}`;
    const near = popularNear(name);
    if (near !== null) return `Did you mean ${near}? ${adds(near, "*", near)}`;
    return adds(name, range === "" ? "*" : range, entry);
  }

  /** A module of a similar name, or null. */
  get similar(): string | null {
    return this.#similar;
  }
}

function adds(name: string, range: string, entry: string): string {
  return `Add "packages": ${stringify({ [name]: range })} to the request, or import "npm:${entry}". If the package is not permitted here, bundle the code: \`caisson run --bundle task.ts\`.`;
}

/** Returns the hint for a range in a specifier without `npm:`, such as `zod@4`; otherwise undefined. */
function hintOfRange(specifier: string): string | undefined {
  const named = packageSpecifier(`npm:${specifier}`);
  if (!named || named.range === "" || !mayBeRange(named.range)) return undefined;
  return `Import "npm:${specifier}", or "${named.entry}" with "packages": ${stringify({ [named.name]: named.range })} in the request.`;
}

const faults = new WeakMap<FaultMessage, MissingModule>();
const setFault = faults.set.bind(faults);
const getFault = faults.get.bind(faults);

/** Notes which module a fault is about. The service receives only the text. */
export function noteMissing(fault: FaultMessage, missing: MissingModule): FaultMessage {
  setFault(fault, missing);
  return fault;
}

export function missingOf(fault: FaultMessage): MissingModule | undefined {
  return getFault(fault);
}

/** The characters of a version, a range or a tag. */
const RANGE = /^[\w.^~<>=|+* -]*$/;
/** A version or a part of one, with an operator before it. */
const VERSION = /^[\^~<>=]*v?\d+(?:\.(?:\d+|[xX*])){0,2}(?:[-+][\w.+-]*)?$/;

/** Whether a text may be a version, a range or a tag. A single word that begins with a number must be a version: `4.x.y` is none. */
function mayBeRange(text: string): boolean {
  return RANGE.test(text) && (/[ |]/.test(text) || !/^[\^~<>=]*v?\d/.test(text) || VERSION.test(text));
}

/** The name of a file, which no package has. */
const FILE = /^[\w$-][\w$.-]{0,100}\.(?:[cm]?ts|[jt]sx|[cm]js|json)$/;
const ENDS = ["", ".ts", ".js", ".mjs", ".cjs", ".mts", ".cts", ".tsx", ".jsx", ".json"];

/** Returns the submitted module that a specifier names without the `./` in front of it, and perhaps without its end; or null. */
function withoutDot(specifier: string, importer: string, available: readonly string[]): string | null {
  // A module in a folder resolves its imports from there.
  if (importer.includes("/")) return null;
  for (let index = 0; index < ENDS.length; index += 1) {
    const name = `./${specifier}${ENDS[index]!}`;
    if (available.includes(name)) return name;
  }
  return null;
}

/** Longer names are not typing mistakes. It bounds the time for a comparison. */
const MAX_CHARACTERS = 64;

/** Returns the module whose name differs least, if it differs by a typing mistake only. */
function similarTo(specifier: string, available: readonly string[]): string | null {
  const isOwn = /^\.\.?\//.test(specifier);
  const hasScheme = specifier.startsWith("node:");
  const name = specifier.replace(/^node:/, "");
  // Names of two or three letters resemble many others, and are most often packages, such as `ws`.
  if (name.length > MAX_CHARACTERS || (!isOwn && !hasScheme && name.length < 3)) return null;
  const candidates = isOwn ? available : builtinModules.concat(hasScheme ? [] : available);
  let best: string | null = null;
  let most = name.length < 6 ? 1 : 2;
  for (let index = 0; index < candidates.length; index += 1) {
    const candidate = candidates[index]!;
    const other = candidate.replace(/^node:/, "");
    if (other.startsWith("_") || other.length > MAX_CHARACTERS || (!isOwn && other.startsWith("."))) continue;
    const differs = distance(name, other);
    if (differs > most || (best !== null && differs === most)) continue;
    most = differs;
    best = isOwn || index >= builtinModules.length ? candidate : `node:${other}`;
  }
  return best;
}
