import { isBuiltin } from "node:module";

import { DEFAULT_NAME, moduleBody, type ModuleImport } from "./module-body.ts";
import { plainRequire } from "./modules.ts";
import { compileModuleBody } from "./parse.ts";

const { apply } = Reflect;
const { defineProperty, freeze, getOwnPropertyDescriptor, hasOwn } = Object;

/**
 * Evaluates a module once. Throws what the module throws.
 *
 * @returns what it exports; null if it has returned before, which a module may not do
 */
export type Evaluate = () => object | null;

/**
 * Compiles an ES module without Node's loader, which is slow and never frees a module.
 *
 * @param text without types
 * @returns null for a text that is no module or needs the loader, and for one that V8 rejects: the loader finds the fault
 */
export function compileModule(text: string, url: string): Evaluate | null {
  const body = moduleBody(text, isBuiltin);
  const namespaces = body && namespacesOf(body.imports);
  const evaluate = namespaces && compileModuleBody(body, url);
  if (!evaluate) return null;
  let found: object | null = null;
  return () => {
    // Without `this`, as in a module.
    if (found === null) apply(evaluate, undefined, [namespaces, (exported) => (found = withDefaultName(exported))]);
    return found;
  };
}

/** Returns what the imports of a module refer to, or null if a module or one of its names does not exist. */
function namespacesOf(imports: readonly ModuleImport[]): object[] | null {
  const namespaces: object[] = [];
  for (let index = 0; index < imports.length; index += 1) {
    const { specifier, names } = imports[index]!;
    const module = required(specifier);
    if (module === null) return null;
    for (let at = 0; at < names.length; at += 1) if (!hasOwn(module, names[at]!)) return null;
    namespaces[index] = freeze({ __proto__: null, ...module, default: module });
  }
  return namespaces;
}

function required(specifier: string): object | null {
  try {
    return plainRequire(specifier) as object;
  } catch {
    return null;
  }
}

/** Gives a function or class without a name the name that it has in a module (ECMA-262, section 16.2.3.7). */
function withDefaultName(exported: object): object {
  const { default: main } = exported as { default?: unknown };
  if (typeof main === "function" && getOwnPropertyDescriptor(main, "name")?.value === DEFAULT_NAME) {
    defineProperty(main, "name", { value: "default", configurable: true });
  }
  return exported;
}
