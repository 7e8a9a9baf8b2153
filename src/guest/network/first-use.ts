import { registerHooks, syncBuiltinESMExports } from "node:module";

import { safeMap } from "../safe-map.ts";

const getBuiltin = process.getBuiltinModule.bind(process);
const sync = syncBuiltinESMExports;
const { defineProperty } = Object;

/** The patches to apply before a module is returned, by module name. */
const patches = safeMap<string, () => void>();

/**
 * Patches a module of Node when submitted code first loads it or a module that uses it: TLS alone costs a guest 10 ms and
 * 4 MB, and most tasks never use it. If code gets an unpatched module in another way, the sandbox has no network anyway.
 *
 * @param names The modules whose first use applies the patch.
 * @returns a function that applies the patch now, if it was not applied before.
 */
export function onFirstUse(names: readonly string[], name: string, patch: (builtin: never) => void): () => void {
  let isDone = false;
  const once = (): void => {
    if (isDone) return;
    isDone = true;
    patch(getBuiltin(name) as never);
    sync();
  };
  for (const each of names) {
    const previous = patches.get(each);
    const all = previous
      ? (): void => {
          previous();
          once();
        }
      : once;
    patches.set(each, all);
    patches.set(`node:${each}`, all);
  }
  return once;
}

/** Applies the patches when submitted code loads a module of Node. */
export function watchFirstUse(): void {
  registerHooks({
    resolve(specifier, context, next) {
      patches.get(specifier)?.();
      return next(specifier, context);
    },
  });
  process.getBuiltinModule = (name: string) => {
    patches.get(name)?.();
    return getBuiltin(name);
  };
}

/**
 * Calls `prepare` when Node loads undici, which implements `fetch` and `WebSocket`. This function does not load undici.
 * Undici starts by reading this property, for a dispatcher that another copy of undici set, and then replaces the property.
 */
export function onUndici(prepare: () => void): void {
  defineProperty(globalThis, Symbol.for("undici.globalDispatcher.1"), {
    configurable: true,
    get: () => prepare(),
  });
}
