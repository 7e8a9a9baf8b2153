import type v8Module from "node:v8";

import { notSupported } from "./errors.ts";

/**
 * Makes `v8.setFlagsFromString` fail: some flags disable V8's memory checks, for example
 * `--experimental-wasm-skip-bounds-checks`. This is only defence in depth. Node's internals can bypass it, and the sandbox
 * does not depend on it.
 */
export function patchFlags(v8: typeof v8Module): void {
  v8.setFlagsFromString = setFlagsFromString;
}

function setFlagsFromString(): never {
  const message = "setFlagsFromString is not possible: all tasks use the same V8 flags";
  throw notSupported("setFlagsFromString", message);
}
