import { formatStack } from "./stack-frames.ts";

const NativeError = Error;
const { defineProperty, getOwnPropertyDescriptor } = Object;
const { deleteProperty } = Reflect;

/**
 * Calls `step` with the guest's own `Error.prepareStackTrace`, because V8 gives the position of a syntax error only in the
 * stack. Tasks and their libraries, for example for source maps, replace the function and do not restore it.
 */
export function withNodeStacks<Value>(step: () => Value): Value {
  const found = getOwnPropertyDescriptor(NativeError, "prepareStackTrace");
  if (found?.value === formatStack || found?.configurable === false) return step();
  defineProperty(NativeError, "prepareStackTrace", { value: formatStack, writable: true, configurable: true });
  try {
    return step();
  } finally {
    if (found) defineProperty(NativeError, "prepareStackTrace", found);
    else deleteProperty(NativeError, "prepareStackTrace");
  }
}
