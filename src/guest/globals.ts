import { ownFile, ownFolder, plainRequire } from "./modules.ts";

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
