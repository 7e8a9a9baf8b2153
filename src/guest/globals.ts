import { ownFile, ownFolder, plainRequire } from "./modules.ts";

/**
 * Gives an ES module what CommonJS has in scope: people mix the two, and bundlers leave `require` and `__dirname` in
 * modules. As globals, because a text may declare them itself. To be called once, before any submitted code runs.
 */
export function giveCommonJs(): void {
  const values = { require: plainRequire, __dirname: ownFolder, __filename: ownFile };
  for (const [name, value] of Object.entries(values)) {
    Object.defineProperty(globalThis, name, { value, writable: true, configurable: true });
  }
}
