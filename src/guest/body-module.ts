import { isBuiltin } from "node:module";

import { DEFAULT_NAME, moduleBody, type ModuleImport } from "./module-body.ts";
import { plainRequire } from "./modules.ts";
import type { Packages } from "./packages.ts";
import { compileModuleBody, returnOfModule } from "./parse.ts";

const { apply } = Reflect;
const { defineProperty, freeze, getOwnPropertyDescriptor, hasOwn } = Object;

/**
 * Evaluates a module once. Throws what the module throws.
 *
 * @returns what it exports; null if the loader has to find a fault: a missing name, or a return, which a module may not do
 */
export type Evaluate = () => object | null;

/**
 * Compiles an ES module without Node's loader, which is slow and never frees a module.
 *
 * @param text without types
 * @param packages the packages that the module may import; they are evaluated with it
 * @returns null for a text that is not a module or needs the loader, and for one that V8 rejects: the loader finds the fault
 */
export function compileModule(text: string, url: string, packages: Packages | null): Evaluate | null {
  const body = moduleBody(text, (specifier) => isBuiltin(specifier) || (packages?.entryOf(specifier) ?? null) !== null);
  // The loader refuses a module that returns before anything of it runs. As a function, it would run until the return.
  if (body && mayReturn(body.text) && returnOfModule(body.text)) return null;
  const evaluate = body && compileModuleBody(body, url);
  if (!evaluate) return null;
  let found: object | null = null;
  return () => {
    if (found !== null) return found;
    const namespaces = namespacesOf(body.imports, packages);
    // Without `this`, as in a module.
    if (namespaces) apply(evaluate, undefined, [namespaces, (exported) => (found = withDefaultName(exported))]);
    return found;
  };
}

/** A longer text is not looked at, because it is seldom written by hand. Its return is found when it executes. */
const MAX_CHARACTERS = 32 * 1024;

/** Whether a text may return outside of all functions and blocks: it has a `return` with as many `}` as `{` before it. */
function mayReturn(text: string): boolean {
  if (text.length > MAX_CHARACTERS) return false;
  const marks = /[{}]|\breturn\b/g;
  let depth = 0;
  for (let mark = marks.exec(text); mark; mark = marks.exec(text)) {
    if (mark[0] === "{") depth += 1;
    else if (mark[0] === "}") depth -= 1;
    else if (depth <= 0) return true;
  }
  return false;
}

/** Returns what the imports of a module refer to, or null if a module or one of its names does not exist. */
function namespacesOf(imports: readonly ModuleImport[], packages: Packages | null): object[] | null {
  const namespaces: object[] = [];
  for (let index = 0; index < imports.length; index += 1) {
    const used = imports[index]!;
    const namespace = isBuiltin(used.specifier) ? builtinNamespace(used) : packageNamespace(used, packages!);
    if (namespace === null) return null;
    namespaces[index] = namespace;
  }
  return namespaces;
}

function builtinNamespace({ specifier, names }: ModuleImport): object | null {
  let namespace: object;
  try {
    const module = plainRequire(specifier) as object;
    namespace = freeze({ __proto__: null, ...module, default: module });
  } catch {
    return null;
  }
  for (let at = 0; at < names.length; at += 1) if (!hasOwn(namespace, names[at]!)) return null;
  return namespace;
}

/** Throws what the modules of a package throw. */
function packageNamespace({ specifier, names, isWhole }: ModuleImport, packages: Packages): object | null {
  const entry = packages.entryOf(specifier);
  if (entry === null) return null;
  const found = packages.exportsOf(entry, names);
  return found && isWhole ? packages.namespace(entry) : found;
}

/** Gives a function or class without a name the name that it has in a module (ECMA-262, section 16.2.3.7). */
function withDefaultName(exported: object): object {
  const { default: main } = exported as { default?: unknown };
  if (typeof main === "function" && getOwnPropertyDescriptor(main, "name")?.value === DEFAULT_NAME) {
    defineProperty(main, "name", { value: "default", configurable: true });
  }
  return exported;
}
