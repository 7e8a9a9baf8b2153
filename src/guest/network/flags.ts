import type v8Module from "node:v8";

import { notServed } from "./errors.ts";

/**
 * Has V8's switches say that they cannot be set: some take away V8's own checks of memory, such as
 * `--experimental-wasm-skip-bounds-checks`. It only adds depth. Node's internals lead past it, and the wall does not need it.
 */
export function patchFlags(v8: typeof v8Module): void {
  v8.setFlagsFromString = setFlagsFromString;
}

function setFlagsFromString(): never {
  const message = "setFlagsFromString is not possible: the switches of V8 are the same for all tasks";
  throw notServed("setFlagsFromString", message);
}
