import { registerHooks, syncBuiltinESMExports } from "node:module";

import { safeMap } from "../safe-map.ts";

const getBuiltin = process.getBuiltinModule.bind(process);
const sync = syncBuiltinESMExports;
const { defineProperty } = Object;

/** What is to be done before one of these modules is handed out. */
const patches = safeMap<string, () => void>();

/**
 * Patches a module of Node when it, or one that uses it, is asked for the first time: TLS alone takes 10 ms and 4 MB of a
 * guest, and most tasks never use it.
 *
 * A way to a module that is not watched here reaches nothing: behind it stands the kernel, and no network.
 *
 * @returns what does it now, when it was not done before.
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
    const earlier = patches.get(each);
    const both = earlier
      ? (): void => {
          earlier();
          once();
        }
      : once;
    patches.set(each, both);
    patches.set(`node:${each}`, both);
  }
  return once;
}

/** Watches the ways by which submitted code gets at modules of Node. */
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
 * Does it when Node loads undici, of which `fetch` and `WebSocket` are made, without loading it: the first thing that
 * undici does is to look for a dispatcher that was set by another copy of it, and then to put its own in this place.
 */
export function onUndici(prepare: () => void): void {
  defineProperty(globalThis, Symbol.for("undici.globalDispatcher.1"), {
    configurable: true,
    get: () => prepare(),
  });
}
