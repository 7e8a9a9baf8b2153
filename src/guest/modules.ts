import { isBuiltin, registerHooks } from "node:module";

import type { CodeMessage } from "../wire/code-message.ts";
import { forgetPackagesOfCode, packageModule, packagesOfCode } from "./code-packages.ts";
import { currentRun } from "./current-run.ts";
import { exportsOfText } from "./export-hints.ts";
import type { CodeFault } from "./faults.ts";
import { forgetMaps, noteMap } from "./generated-maps.ts";
import { MissingModule } from "./missing-module.ts";
import { checkJson, faultOfModule, formatOf, stripModule } from "./module-source.ts";
import { ownFile, ownFolder, refuseUnusable, requireFromTmp } from "./own-require.ts";
import { isEntryUrl, loadEntry, providePackages } from "./package-modules.ts";
import { safeMap } from "./safe-map.ts";
import { asSubmitted } from "./stack-positions.ts";
import { staticRequires } from "./static-requires.ts";
import type { Stripped } from "./strip.ts";

interface VirtualModule {
  text: string;
  typescript: boolean;
  /** Null if the text decides. */
  format: "module" | "json" | null;
  /** JavaScript that the builder has made from the text. */
  generated?: Stripped;
}

const NodeURL = URL;
/** The submitted modules, by code id and name: `12/lib.ts`. */
const virtual = safeMap<string, VirtualModule>();
/** The specifiers of the submitted modules, by code id. */
const specifiersByCode = safeMap<number, readonly string[]>();
/** Returns the URL of a submitted text. The frames of stacks contain it, and relative imports resolve against it. */
export function moduleUrl(codeId: number, name: string, attempt = 0): string {
  return `task:/${codeId}${attempt === 0 ? "" : `.${attempt}`}/${name}`;
}

/** Makes the envelope's `modules` importable by the submitted code. */
export function addModules(codeId: number, modules: NonNullable<CodeMessage["modules"]>): void {
  const specifiers = Object.keys(modules);
  specifiersByCode.set(codeId, specifiers);
  for (let index = 0; index < specifiers.length; index += 1) {
    const name = specifiers[index]!;
    const format = name.endsWith(".json") ? "json" : null;
    add(new NodeURL(name, moduleUrl(codeId, "")).href, {
      text: modules[name]!,
      typescript: /\.[mc]?tsx?$/.test(name),
      format,
    });
  }
}

const STOPPED = "STOPPED_BEFORE_EVALUATION";
const STOP_URL = "task:/0/stop.js";
const STOP_MODULE = `throw Object.assign(new Error("stopped"), { code: "${STOPPED}" })`;

/**
 * Parses and links a text as `importText` does, but evaluates neither the text nor any of its imports: an imported `data:`
 * URL is also code of the author. For this, it loads a module that imports the stop module before the text. V8 links all
 * imports before it evaluates the first one, and the first one throws.
 *
 * @throws the syntax or linking error of the text.
 */
export async function parseText(url: string, text: string): Promise<void> {
  add(STOP_URL, { text: STOP_MODULE, typescript: false, format: "module" });
  add(url, { text, typescript: false, format: "module" });
  try {
    // The URL has the same code id and attempt, so that `dropModules` removes this module too.
    await importText(`${url}.parse`, `import "${STOP_URL}"; import "${url}";`);
  } catch (error) {
    if ((error as { code?: unknown }).code !== STOPPED) throw error;
  }
}

/** Loads a text, whose types are already stripped, as an ES module. Returns a promise of its namespace. */
export function importText(url: string, text: string): Promise<unknown> {
  add(url, { text, typescript: false, format: "module" });
  return import(url);
}

export function dropModules(codeId: number): void {
  specifiersByCode.delete(codeId);
  forgetPackagesOfCode(codeId);
  forgetMaps(codeId);
  virtual.forEach((_, key) => {
    if (key.startsWith(`${codeId}/`)) virtual.delete(key);
  });
}

/** Replaces the text of a submitted module when it is loaded. Its errors have the positions of the submitted text. */
export function replaceModule(codeId: number, specifier: string, generated: Stripped): void {
  const found = virtual.get(keyOf(new NodeURL(specifier, moduleUrl(codeId, "")).href));
  if (found) found.generated = generated;
}

/** Returns the names that a module exports which the code of an id may import from its main text, or null if they are unknown. */
export function namesOfModule(codeId: number, specifier: string): readonly string[] | null {
  if (isRelative(specifier)) {
    const url = find(specifier, moduleUrl(codeId, ""));
    const found = url === null ? undefined : virtual.get(keyOf(url));
    return found && found.format !== "json" ? exportsOfText(found.text) : null;
  }
  const packages = packagesOfCode(codeId);
  const entry = packages?.entryOf(specifier) ?? null;
  return packages && entry !== null ? Object.keys(packages.namespace(entry)) : null;
}

/** Returns the submitted text of a module, or null. */
export function textOfModule(codeId: number, name: string): string | null {
  return virtual.get(`${codeId}/${name}`)?.text ?? null;
}

/**
 * Returns the `require` of one code: for built-in modules, modules of the envelope, packages, and files that the task wrote
 * to its folder.
 */
export function requireOf(codeId: number): NodeJS.Require {
  if (!specifiersByCode.has(codeId) && !packagesOfCode(codeId)) return plainRequire;
  const base = moduleUrl(codeId, "");
  const require = (specifier: string): unknown =>
    requireModule((isRelative(specifier) && find(specifier, base)) || specifier, base);
  return Object.assign(require, requireFromTmp);
}

/** The `require` of code that was submitted without modules and packages, and of ES modules. */
export const plainRequire: NodeJS.Require = Object.assign(
  (specifier: string): unknown => requireModule(specifier, ""),
  requireFromTmp,
);

function requireModule(specifier: string, parent: string): unknown {
  // Texts that Node loads call the global `require`, which does not know their code.
  const packages = parent === "" ? currentRun()?.code.packages : packagesOfCode(codeIdOf(parent));
  if (packages && !isFile(specifier) && !isBuiltin(specifier)) {
    const entry = packages.entryOf(specifier);
    if (entry !== null) return packages.require(entry);
  }
  try {
    return requireFromTmp(specifier);
  } catch (error) {
    if (error instanceof SyntaxError) throw faultOfModules(codeIdOf(parent)) ?? error;
    // A module that was found throws the same error if it requires a missing module.
    const { code, message } = error as NodeJS.ErrnoException;
    if (code !== "MODULE_NOT_FOUND" && code !== "ERR_UNKNOWN_BUILTIN_MODULE") throw error;
    if (!message.includes(`'${specifier}'`) && code === "MODULE_NOT_FOUND") throw error;
    throw missing(specifier, parent, "MODULE_NOT_FOUND");
  }
}

/** Resolves imports of submitted code to submitted modules and packages. Call it once, before any submitted code runs. */
export function installModuleHooks(): void {
  providePackages();
  registerHooks({
    resolve(specifier, context, next) {
      if (specifier.startsWith("task:/")) return { url: specifier, shortCircuit: true };
      const parent = context.parentURL;
      refuseUnusable(specifier, parent ?? "");
      if (specifier.startsWith("node:") && !isBuiltin(specifier)) {
        throw missing(specifier, parent ?? "", "ERR_MODULE_NOT_FOUND");
      }
      if (!parent?.startsWith("task:/") || isBuiltin(specifier) || /^(?:node|data|file):/.test(specifier)) {
        return next(specifier, context);
      }
      const url = isRelative(specifier)
        ? find(specifier, parent)
        : packageModule(codeIdOf(parent), specifier, context.conditions.includes("require"), () => textsOf(parent));
      if (url === null) throw missing(specifier, parent, "ERR_MODULE_NOT_FOUND");
      return { url, shortCircuit: true };
    },
    load(url, context, next) {
      if (isEntryUrl(url)) return { ...loadEntry(url), shortCircuit: true };
      const found = url.startsWith("task:/") ? virtual.get(keyOf(url)) : undefined;
      if (!found) return next(url, context);
      if (found.format === "json") checkJson(found.text, asSubmitted(url));
      const source = found.generated || found.typescript ? strippedModule(url, found) : found.text;
      return { format: found.format ?? formatOf(source), source, shortCircuit: true };
    },
  });
}

/**
 * Throws if a text requires a module that does not exist, without executing the text.
 *
 * @param parent The URL of the text.
 * @throws {MissingModule}
 */
export function checkRequires(text: string, parent: string): void {
  const specifiers = staticRequires(text);
  const packages = packagesOfCode(codeIdOf(parent));
  for (let index = 0; index < specifiers.length; index += 1) {
    const specifier = specifiers[index]!;
    refuseUnusable(specifier, parent);
    if (isBuiltin(specifier) || specifier.startsWith("/")) continue;
    if (packages && packages.entryOf(specifier) !== null) continue;
    // A text that uses files may write a module before it loads it.
    const mayBeWritten = isRelative(specifier) && /\bfs\b/.test(text);
    if (mayBeWritten || (isRelative(specifier) && find(specifier, parent) !== null)) continue;
    throw missing(specifier, parent, "MODULE_NOT_FOUND");
  }
}

function add(url: string, module: VirtualModule): void {
  virtual.set(keyOf(url), module);
}

/** Returns the key in `virtual` of a URL. The attempt is not part of it, so all attempts share the submitted texts. */
function keyOf(url: string): string {
  return url.slice("task:/".length).replace(/^(\d+)\.\d+\//, "$1/");
}

/** Returns NaN if the importing text was not submitted. */
function codeIdOf(parent: string): number {
  return Number.parseInt(parent.slice("task:/".length), 10);
}

function isRelative(specifier: string): boolean {
  return /^\.\.?\//.test(specifier);
}

/** Returns all texts of the code that imports something. */
function textsOf(parent: string): string[] {
  const texts: string[] = [];
  virtual.forEach(({ text }, key) => {
    if (key.startsWith(`${codeIdOf(parent)}/`)) texts[texts.length] = text;
  });
  return texts;
}

function isFile(specifier: string): boolean {
  return specifier.startsWith("/") || isRelative(specifier);
}

/** Resolves a relative specifier. TypeScript authors import `./lib.ts` as `./lib.js` or `./lib`. */
function find(specifier: string, parent: string): string | null {
  const { href } = new NodeURL(specifier, parent);
  const bare = href.replace(/\.jsx?$/, "");
  const candidates = [href, `${href}.ts`, `${href}.tsx`, `${href}.js`, `${href}.jsx`, `${bare}.ts`, `${bare}.tsx`];
  return candidates.find((candidate) => virtual.has(keyOf(candidate))) ?? null;
}

function missing(specifier: string, parent: string, code: MissingModule["code"]): MissingModule {
  const codeId = codeIdOf(parent);
  const packages = parent === "" ? currentRun()?.code.packages : packagesOfCode(codeId);
  const available = (specifiersByCode.get(codeId) ?? []).concat(packages?.entries ?? []);
  const about = { specifier, parent, available };
  if (specifier.startsWith("node:")) return new MissingModule(`Node has no module "${specifier}"`, code, about);
  // The global `require`, which ES modules call, does not know the id of the code.
  const mayBeEsModule = parent === "" && isRelative(specifier);
  const none = `the request gives no modules${mayBeEsModule ? ", or is an ES module, which has to import them" : ""}`;
  const given = available.length > 0 ? `the request gives ${available.join(", ")}` : none;
  const stated = packages?.entriesInstead(specifier) ?? null;
  if (stated) {
    const what = stated.length > 0 ? `has ${stated.join(", ")}, and not this one` : "does not have it";
    return new MissingModule(`there is no module "${specifier}": the package ${what}`, code, { ...about, stated });
  }
  const message = `there is no module "${specifier}": ${given}; Node's modules can be imported`;
  return new MissingModule(message, code, about);
}

/**
 * Finds the syntax error in the submitted modules of a code, because V8 reports it without a position. Never throws.
 *
 * @param message V8's message. A fault with another message is ignored.
 */
export function faultOfModules(codeId: number, message = ""): CodeFault | null {
  let found: CodeFault | null = null;
  virtual.forEach((module, key) => {
    if (found || module.format !== null || !key.startsWith(`${codeId}/`)) return;
    const fault = faultOfModule(module, key.slice(key.indexOf("/") + 1));
    if (fault?.message.includes(message)) found = fault;
  });
  return found;
}

/** Returns the text of a module without types, and notes where its positions are. @throws {CodeFault} that names the module. */
function strippedModule(url: string, { text, generated }: VirtualModule): string {
  const name = asSubmitted(url);
  const result = generated ?? stripModule(text, name);
  noteMap(codeIdOf(url), name, result.map);
  return result.text;
}

/**
 * Defines the CommonJS names for ES modules: authors mix the two forms, and bundlers leave `require` and `__dirname` in
 * modules. They are globals, because a module may declare the names itself. Call it once, before any submitted code runs.
 */
export function defineCommonJsGlobals(): void {
  const values = { require: plainRequire, __dirname: ownFolder, __filename: ownFile };
  for (const [name, value] of Object.entries(values)) {
    Object.defineProperty(globalThis, name, { value, writable: true, configurable: true });
  }
}
