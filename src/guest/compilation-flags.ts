import type v8Module from "node:v8";

/** So many texts show that a guest is sent new code again and again. Loading `v8` takes 2 ms, which is too much for each start. */
const MANY_TEXTS = 100;
/** Most functions of a short text are called. A long text may be a bundle that uses few of its functions. */
const MOST_EAGER = 4_096;

const getBuiltin = process.getBuiltinModule.bind(process);
let texts = 0;
let setFlag: ((flag: string) => void) | null = null;

/** Call it for each compiled text. */
export function countText(): void {
  if (++texts === MANY_TEXTS) stopCompilationCache(getBuiltin("v8"));
}

/**
 * V8 keeps compiled texts for some minutes, in case it gets the same text again. The guest keeps compiled codes itself, so
 * for new texts this only costs memory and processor time. Call it before submitted code can change the module.
 */
export function stopCompilationCache({ setFlagsFromString }: Pick<typeof v8Module, "setFlagsFromString">): void {
  texts = MANY_TEXTS;
  setFlag = setFlagsFromString;
  setFlag("--no-compilation-cache");
}

/**
 * Calls V8's parser. In a guest that has many texts, the functions of a short text are compiled with it: otherwise V8 parses
 * each function twice, because it compiles a function at its first call.
 */
export function compiledWhole<Result>(length: number, parse: () => Result): Result {
  if (setFlag === null || length > MOST_EAGER) return parse();
  setFlag("--no-lazy");
  try {
    return parse();
  } finally {
    // What Node compiles is long, and seldom needed as a whole.
    setFlag("--lazy");
  }
}
