import type v8Module from "node:v8";

import { notServed } from "./errors.ts";

/** Has V8's switches say that they cannot be set. Without this, V8 ends the guest at the call: its switches are frozen. */
export function patchFlags(v8: typeof v8Module): void {
  v8.setFlagsFromString = setFlagsFromString;
}

function setFlagsFromString(): never {
  const message = "setFlagsFromString is not possible: the switches of V8 are the same for all tasks, and frozen";
  throw notServed("setFlagsFromString", message);
}
