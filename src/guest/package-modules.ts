import { uncurry } from "../wire/uncurry.ts";
import type { Packages } from "./packages.ts";
import { safeMap } from "./safe-map.ts";

/**
 * Lets Node's loader import packages. It loads texts only, so each entry is a text whose variables are the exports, and which
 * asks this file for their values. Node never frees a module, so the values are taken away when the packages are forgotten.
 */

/** Reads the values of the exports from a namespace. With an empty object, the exports become undefined. */
type Fill = (namespace: object) => void;

interface Waiting {
  readonly packages: Packages;
  readonly entry: string;
  /** Absent for a text that calls `require`. */
  fill?: Fill;
}

/** The function that the texts call. A task can call it too, and learns only what it may import. */
const PROVIDE = "$provide package$";
const SCHEME = "package:/";

const { keys } = Object;
const { stringify } = JSON;
const isWellFormed = uncurry(String.prototype, "isWellFormed");
const modules = safeMap<string, Waiting>();
/** The names that a module without a package exports, until it is loaded. */
const namesByUrl = safeMap<string, readonly string[]>();
let nextNames = 1;

/** Defines the function that the texts call. Call it once, before any submitted code runs. */
export function providePackages(): void {
  Object.defineProperty(globalThis, PROVIDE, { value: provide });
}

/** Returns the URL of an entry for Node's loader. @param isRequired whether the module calls `require`, not `import` */
export function entryUrl(packages: Packages, entry: string, isRequired: boolean): string {
  const url = `${SCHEME}${packages.id}/${isRequired ? "require" : "import"}/${entry}`;
  if (!modules.has(url)) modules.set(url, { packages, entry });
  return url;
}

/** Returns the URL of a module that has each of these exports. A text can be linked with it without evaluating a package. */
export function unevaluatedUrl(names: readonly string[]): string {
  const url = `${SCHEME}names/${nextNames++}`;
  namesByUrl.set(url, names);
  return url;
}

export function isEntryUrl(url: string): boolean {
  return url.startsWith(SCHEME);
}

/** Returns what Node's loader loads for a URL of this file. Evaluates the package. Throws what its modules throw. */
export function loadEntry(url: string): { format: "module" | "commonjs"; source: string } {
  const names = namesByUrl.get(url);
  if (names) return namesOnly(url, names);
  const found = modules.get(url);
  if (!found) throw new TypeError("packages that were forgotten are imported");
  const call = `globalThis[${stringify(PROVIDE)}](${stringify(url)}`;
  if (url.includes("/require/")) return { format: "commonjs", source: `module.exports=${call})` };
  return valuesOf(call, keys(found.packages.namespace(found.entry)));
}

function valuesOf(call: string, names: readonly string[]): { format: "module"; source: string } {
  let variables = "let $";
  let assignments = "";
  let exports = "";
  for (let index = 0; index < names.length; index += 1) {
    const name = names[index]!;
    // A module cannot export a name that is not well-formed.
    if (!isWellFormed(name)) continue;
    const text = stringify(name);
    variables += `,$${index}`;
    // A getter may throw. As in Node, the other exports can be imported.
    assignments += `try{$${index}=$[${text}]}catch{}`;
    exports += `$${index} as ${text},`;
  }
  return { format: "module", source: `${variables};${call},($)=>{${assignments}});export{${exports}}` };
}

/** Takes the values of forgotten packages away from the modules that Node keeps. No run may use them any more. */
export function clearEntries(packages: Packages): void {
  modules.forEach((module, url) => {
    if (module.packages !== packages) return;
    module.fill?.({});
    modules.delete(url);
  });
}

function namesOnly(url: string, names: readonly string[]): { format: "module"; source: string } {
  namesByUrl.delete(url);
  let exports = "$ as default";
  for (let index = 0; index < names.length; index += 1) exports += `,$ as ${names[index]}`;
  return { format: "module", source: `const $=0;export{${exports}}` };
}

function provide(url: string, fill?: Fill): unknown {
  const found = modules.get(url);
  if (!found) return undefined;
  const { packages, entry } = found;
  if (!fill) return packages.require(entry);
  found.fill ??= fill;
  fill(packages.namespace(entry));
  return undefined;
}
