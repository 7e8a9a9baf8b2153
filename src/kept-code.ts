import { flushCompileCache } from "node:module";

let keep: () => void = flushCompileCache;

/** Sets how this process keeps its compiled code. The default is that of a process that runs from its source. */
export function keepCodeWith(keeper: () => void): void {
  keep = keeper;
}

/**
 * Keeps the code that this process has compiled until now, so that the next start need not compile it. A service calls this
 * before it gives up root, because its user may not write next to the program.
 */
export function keepCode(): void {
  keep();
}
