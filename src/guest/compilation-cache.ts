import type v8Module from "node:v8";

/** So many texts show that a guest is sent new code again and again. Loading `v8` takes 2 ms, which is too much for each start. */
const MANY_TEXTS = 100;

const getBuiltin = process.getBuiltinModule.bind(process);
let texts = 0;

/** Call it for each compiled text. */
export function countText(): void {
  if (++texts === MANY_TEXTS) stopCompilationCache(getBuiltin("v8"));
}

/**
 * V8 keeps compiled texts for some minutes, in case it gets the same text again. The guest keeps compiled codes itself, so
 * for new texts this only costs memory and processor time. Call it before submitted code can change the module.
 */
export function stopCompilationCache(v8: Pick<typeof v8Module, "setFlagsFromString">): void {
  texts = MANY_TEXTS;
  v8.setFlagsFromString("--no-compilation-cache");
}
