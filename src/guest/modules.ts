import { createRequire, isBuiltin, registerHooks } from "node:module";
import path from "node:path";

import { findJsonFault } from "../wire/json-fault.ts";
import type { CodeMessage } from "../wire/messages.ts";
import { CodeFault } from "./faults.ts";
import { checkModule } from "./module-check.ts";
import { parseBody } from "./parse.ts";
import { safeMap } from "./safe-map.ts";
import { asSubmitted } from "./stack-positions.ts";
import { strip } from "./strip.ts";
import { explainedFault } from "./syntax-hints.ts";
import { syntaxFault } from "./syntax.ts";

/** Something that was imported and is not there, or has no meaning here. The code is what libraries look for. */
export class MissingModule extends Error {
  readonly code: "ERR_MODULE_NOT_FOUND" | "MODULE_NOT_FOUND";

  constructor(message: string, code: MissingModule["code"]) {
    super(message);
    this.code = code;
  }
}

interface VirtualModule {
  text: string;
  typescript: boolean;
  /** Null where the text has to tell. */
  format: "module" | "json" | null;
}

const NodeURL = URL;
const { parse } = JSON;
/** By code and name: `12/lib.ts`. */
const virtual = safeMap<string, VirtualModule>();
const named = safeMap<number, readonly string[]>();
/** What `os.tmpdir()` says in a guest, without its module: that costs each start a third of a millisecond. */
export const ownFolder: string = process.env["TMPDIR"] ?? "/tmp";
export const ownFile: string = path.join(ownFolder, "task.js");
/** What is not submitted resolves from the task's own folder. */
const requireFromTmp = createRequire(ownFile);
/** These cannot even be loaded here. Others load, because libraries import them unused, and say at a call what has no meaning. */
const MEANINGLESS: Readonly<Record<string, string>> = {
  domain: "runs are told apart already, by AsyncLocalStorage",
  repl: "there is no terminal",
};

/** The URL of a submitted text. Errors are told from its frames, and its relative imports start from it. */
export function moduleUrl(codeId: number, name: string, attempt = 0): string {
  return `task:/${codeId}${attempt === 0 ? "" : `.${attempt}`}/${name}`;
}

/** Makes the envelope's `modules` importable by their code. */
export function addModules(codeId: number, modules: NonNullable<CodeMessage["modules"]>): void {
  const specifiers = Object.keys(modules);
  named.set(codeId, specifiers);
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
 * Reads and links a text as `importText` does, and evaluates neither the text nor any of its imports: a `data:` URL is code
 * of the same author. The module that is loaded here imports the stop before the text. All imports are linked before the
 * first is evaluated, and the first throws.
 *
 * @throws the fault of the text.
 */
export async function parseText(url: string, text: string): Promise<void> {
  add(STOP_URL, { text: STOP_MODULE, typescript: false, format: "module" });
  add(url, { text, typescript: false, format: "module" });
  try {
    // Of the same code and attempt, so that it goes with them.
    await importText(`${url}.parse`, `import "${STOP_URL}"; import "${url}";`);
  } catch (error) {
    if ((error as { code?: unknown }).code !== STOPPED) throw error;
  }
}

/** Loads a text, its types stripped already, as an ES module: the promise of its namespace. */
export function importText(url: string, text: string): Promise<unknown> {
  add(url, { text, typescript: false, format: "module" });
  return import(url);
}

export function dropModules(codeId: number): void {
  named.delete(codeId);
  virtual.forEach((_, key) => {
    if (key.startsWith(`${codeId}/`)) virtual.delete(key);
  });
}

/** The `require` of one code: built-in modules, those of the envelope, and what the task wrote to its own folder. */
export function requireOf(codeId: number): NodeJS.Require {
  if (!named.has(codeId)) return plainRequire;
  const base = moduleUrl(codeId, "");
  const require = (specifier: string): unknown =>
    requireModule((isRelative(specifier) && find(specifier, base)) || specifier, base);
  return Object.assign(require, requireFromTmp);
}

/** The `require` of a code that brings no modules. */
export const plainRequire: NodeJS.Require = Object.assign(
  (specifier: string): unknown => requireModule(specifier, ""),
  requireFromTmp,
);

function requireModule(specifier: string, parent: string): unknown {
  try {
    return requireFromTmp(specifier);
  } catch (error) {
    if (error instanceof SyntaxError) throw faultOfModules(codeIdOf(parent)) ?? error;
    // Also thrown by a module that was found and lacks one of its own.
    const { code, message } = error as NodeJS.ErrnoException;
    if (code !== "MODULE_NOT_FOUND" && code !== "ERR_UNKNOWN_BUILTIN_MODULE") throw error;
    if (!message.includes(`'${specifier}'`) && code === "MODULE_NOT_FOUND") throw error;
    throw missing(specifier, parent, "MODULE_NOT_FOUND");
  }
}

/** Sends every import of submitted code to the submitted modules. To be called once, before any of it runs. */
export function installModuleHooks(): void {
  registerHooks({
    resolve(specifier, context, next) {
      if (specifier.startsWith("task:/")) return { url: specifier, shortCircuit: true };
      const parent = context.parentURL;
      refuseMeaningless(specifier);
      if (specifier.startsWith("node:") && !isBuiltin(specifier)) {
        throw missing(specifier, parent ?? "", "ERR_MODULE_NOT_FOUND");
      }
      if (!parent?.startsWith("task:/") || isBuiltin(specifier) || /^(?:node|data|file):/.test(specifier)) {
        return next(specifier, context);
      }
      const url = isRelative(specifier) ? find(specifier, parent) : null;
      if (url === null) throw missing(specifier, parent, "ERR_MODULE_NOT_FOUND");
      return { url, shortCircuit: true };
    },
    load(url, context, next) {
      const found = url.startsWith("task:/") ? virtual.get(keyOf(url)) : undefined;
      if (!found) return next(url, context);
      if (found.format === "json") checkJson(found.text, asSubmitted(url));
      const source = found.typescript ? stripped(found.text, asSubmitted(url)) : found.text;
      return { format: found.format ?? formatOf(source), source, shortCircuit: true };
    },
  });
}

function add(url: string, module: VirtualModule): void {
  virtual.set(keyOf(url), module);
}

/** Without the attempt, so that each attempt sees the modules afresh. */
function keyOf(url: string): string {
  return url.slice("task:/".length).replace(/^(\d+)\.\d+\//, "$1/");
}

/** Not a number where no submitted text imports. */
function codeIdOf(parent: string): number {
  return Number.parseInt(parent.slice("task:/".length), 10);
}

function isRelative(specifier: string): boolean {
  return /^\.\.?\//.test(specifier);
}

/** TypeScript's own habit is to import `./lib.ts` as `./lib.js` or `./lib`. */
function find(specifier: string, parent: string): string | null {
  const { href } = new NodeURL(specifier, parent);
  const candidates = [href, `${href}.ts`, `${href}.js`, href.replace(/\.js$/, ".ts")];
  return candidates.find((candidate) => virtual.has(keyOf(candidate))) ?? null;
}

function refuseMeaningless(specifier: string): void {
  const name = specifier.replace(/^node:/, "");
  const why = Object.hasOwn(MEANINGLESS, name) ? MEANINGLESS[name] : undefined;
  if (why === undefined) return;
  throw new MissingModule(`node:${name} has no meaning here: ${why}`, "ERR_MODULE_NOT_FOUND");
}

function missing(specifier: string, parent: string, code: MissingModule["code"]): MissingModule {
  if (specifier.startsWith("node:")) return new MissingModule(`Node has no module "${specifier}"`, code);
  const given = named.get(codeIdOf(parent));
  // Of an ES module that requires it is not known of which code it is.
  const requires = parent === "" && isRelative(specifier);
  const none = `the request gives no modules${requires ? ", or is an ES module, which has to import them" : ""}`;
  const known = given ? `the request gives ${given.join(", ")}` : none;
  return new MissingModule(`there is no module "${specifier}": ${known}, and Node's own can be imported`, code);
}

/**
 * What is wrong in one of the modules of a code, which V8 tells without its place. Never throws.
 *
 * @param message What V8 tells, where any other fault would be none of it.
 */
export function faultOfModules(codeId: number, message = ""): CodeFault | null {
  let found: CodeFault | null = null;
  virtual.forEach((module, key) => {
    if (found || module.format !== null || !key.startsWith(`${codeId}/`)) return;
    const fault = faultOf(module, key.slice(key.indexOf("/") + 1));
    if (fault?.message.includes(message)) found = fault;
  });
  return found;
}

function faultOf({ text, typescript }: VirtualModule, name: string): CodeFault | null {
  try {
    const bare = typescript ? stripped(text, name) : text;
    const failure = formatOf(bare) === "module" ? checkModule(bare) : null;
    return failure && ofModule(name, explainedFault(text, failure));
  } catch (error) {
    return CodeFault.is(error) ? error : null;
  }
}

/** @throws {CodeFault} that names the module. */
function stripped(text: string, name: string): string {
  try {
    const result = strip("", text, "");
    if (typeof result === "string") return result;
    throw explainedFault(text, result);
  } catch (error) {
    throw CodeFault.is(error) ? ofModule(name, error) : error;
  }
}

/** Here, where the module is known; Node tells no place in a short text. @throws {CodeFault} that names the module. */
function checkJson(text: string, name: string): void {
  const bare = text.replace(/^\uFEFF/, "");
  try {
    parse(bare);
  } catch {
    const { what, ...place } = findJsonFault(bare);
    throw ofModule(name, syntaxFault(bare, { message: `${what} in JSON`, position: place }));
  }
}

function ofModule(name: string, { fault }: CodeFault): CodeFault {
  return new CodeFault(fault.code, `${name}: ${fault.detail}`, fault);
}

function formatOf(text: string): "module" | "commonjs" {
  return /\bexports\b/.test(text) && typeof parseBody(text, "module.js") === "function" ? "commonjs" : "module";
}
