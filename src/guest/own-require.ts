import { createRequire, isBuiltin } from "node:module";
import path from "node:path";

import { MissingModule } from "./missing-module.ts";

/** The value of `os.tmpdir()` in a guest. Loading `node:os` would cost each start a third of a millisecond. */
export const ownFolder: string = process.env["TMPDIR"] ?? "/tmp";
export const ownFile: string = path.join(ownFolder, "task.js");
/** Resolves modules that were not submitted from the task's folder. */
export const requireFromTmp: NodeJS.Require = createRequire(ownFile);
/**
 * The built-in modules that a task cannot import. Other modules without a use here can be imported, because libraries import
 * them without using them; their functions throw when they are called.
 */
const REFUSED: Readonly<Record<string, string>> = {
  domain: "AsyncLocalStorage already separates the runs",
  repl: "there is no terminal",
};

const NativeError = Error;
const { assign, hasOwn } = Object;
const isBuiltinModule = isBuiltin;

/** @throws {MissingModule} for a built-in module that a task cannot import. */
export function refuseUnusable(specifier: string, parent: string): void {
  const name = specifier.replace(/^node:/, "");
  const why = hasOwn(REFUSED, name) ? REFUSED[name] : undefined;
  if (why === undefined) return;
  const message = `node:${name} is not available here: ${why}`;
  throw new MissingModule(message, "ERR_MODULE_NOT_FOUND", { specifier, parent, available: null });
}

/**
 * The `require` of packages. It gives Node's modules only, because an artefact has all other modules. Some packages try to
 * load a package that was not installed, and go on without it.
 */
export const requireInPackage: (specifier: string) => unknown = assign(
  (specifier: string): unknown => {
    if (isBuiltinModule(specifier)) return requireFromTmp(specifier);
    throw notFound(specifier);
  },
  {
    // Some packages look for themselves there, or remove themselves.
    cache: {},
    extensions: {},
    resolve: (specifier: string): string => {
      if (isBuiltinModule(specifier)) return specifier;
      throw notFound(specifier);
    },
  },
);

function notFound(specifier: string): Error {
  const why = /^\.{0,2}\//.test(specifier)
    ? "a package computes the name of this file, and was built without it"
    : "a package requires it, and does not have it as a dependency";
  // As Node begins the message, because some packages look for these words.
  const message = `Cannot find module '${specifier}': ${why}`;
  return assign(new NativeError(message), { code: "MODULE_NOT_FOUND" });
}
