import { createRequire, isBuiltin, registerHooks } from "node:module";

import type { CodeMessage } from "../wire/messages.ts";
import { CodeFault } from "./faults.ts";
import { parseBody } from "./parse.ts";
import { strip } from "./strip.ts";
import { syntaxFault } from "./syntax.ts";
import { safeMap } from "./tables.ts";

/** Something that was imported and is not there. */
export class MissingModule extends Error {
  readonly code = "ERR_MODULE_NOT_FOUND";
}

interface VirtualModule {
  text: string;
  typescript: boolean;
  /** Null where the text has to tell. */
  format: "module" | "json" | null;
}

const NodeURL = URL;
/** By code and name: `12/lib.ts`. */
const virtual = safeMap<string, VirtualModule>();
const named = safeMap<number, readonly string[]>();
/** What is not submitted resolves from the task's own folder. */
const requireFromTmp = createRequire("file:///tmp/task.js");

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
  if (!named.has(codeId)) return requireFromTmp;
  const base = moduleUrl(codeId, "");
  const require = (specifier: string): unknown =>
    requireFromTmp((isRelative(specifier) && find(specifier, base)) || specifier);
  return Object.assign(require, requireFromTmp);
}

/** Sends every import of submitted code to the submitted modules. To be called once, before any of it runs. */
export function installModuleHooks(): void {
  registerHooks({
    resolve(specifier, context, next) {
      if (specifier.startsWith("task:/")) return { url: specifier, shortCircuit: true };
      const parent = context.parentURL;
      if (!parent?.startsWith("task:/") || isBuiltin(specifier) || /^(?:node|data|file):/.test(specifier)) {
        return next(specifier, context);
      }
      const url = isRelative(specifier) ? find(specifier, parent) : null;
      if (url === null) throw missing(specifier, parent);
      return { url, shortCircuit: true };
    },
    load(url, context, next) {
      const found = url.startsWith("task:/") ? virtual.get(keyOf(url)) : undefined;
      if (!found) return next(url, context);
      const source = found.typescript ? stripped(found.text, url) : found.text;
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

function isRelative(specifier: string): boolean {
  return /^\.\.?\//.test(specifier);
}

/** TypeScript's own habit is to import `./lib.ts` as `./lib.js` or `./lib`. */
function find(specifier: string, parent: string): string | null {
  const { href } = new NodeURL(specifier, parent);
  const candidates = [href, `${href}.ts`, `${href}.js`, href.replace(/\.js$/, ".ts")];
  return candidates.find((candidate) => virtual.has(keyOf(candidate))) ?? null;
}

function missing(specifier: string, parent: string): MissingModule {
  const given = named.get(Number.parseInt(parent.slice("task:/".length), 10));
  const known = given ? `the request gives ${given.join(", ")}` : "the request gives no modules";
  return new MissingModule(`there is no module "${specifier}": ${known}, and Node's own can be imported`);
}

function stripped(text: string, url: string): string {
  const result = strip("", text, "");
  if (typeof result === "string") return result;
  const { fault } = syntaxFault(text, result);
  throw new CodeFault("code_syntax", `${url.slice(url.lastIndexOf("/") + 1)}: ${fault.detail}`);
}

function formatOf(text: string): "module" | "commonjs" {
  return /\bexports\b/.test(text) && typeof parseBody(text, "module.js") === "function" ? "commonjs" : "module";
}
