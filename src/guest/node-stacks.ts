const NativeError = Error;
const { defineProperty, getOwnPropertyDescriptor } = Object;
const { deleteProperty } = Reflect;
/** Node's own value. With it, the stack of a syntax error starts with the position. */
const ORIGINAL: unknown = getOwnPropertyDescriptor(NativeError, "prepareStackTrace")?.value;

/**
 * Calls `step` with Node's own `Error.prepareStackTrace`, because V8 gives the position of a syntax error only in the stack.
 * Tasks and their libraries, for example for source maps, replace the function and do not restore it.
 */
export function withNodeStacks<Value>(step: () => Value): Value {
  const found = getOwnPropertyDescriptor(NativeError, "prepareStackTrace");
  if (found?.value === ORIGINAL || found?.configurable === false) return step();
  defineProperty(NativeError, "prepareStackTrace", { value: ORIGINAL, writable: true, configurable: true });
  try {
    return step();
  } finally {
    if (found) defineProperty(NativeError, "prepareStackTrace", found);
    else deleteProperty(NativeError, "prepareStackTrace");
  }
}
