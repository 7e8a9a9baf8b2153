const NativeError = Error;
const { defineProperty, getOwnPropertyDescriptor } = Object;
const { deleteProperty } = Reflect;
/** What Node puts there itself: then the place in a text stands where it is looked for. */
const OWN: unknown = getOwnPropertyDescriptor(NativeError, "prepareStackTrace")?.value;

/**
 * Calls `step` while errors have the stacks that Node writes, because V8 tells the place of a syntax error nowhere else.
 * Tasks and their libraries, such as those for source maps, put their own function in its place and leave it there.
 */
export function withNodeStacks<Value>(step: () => Value): Value {
  const found = getOwnPropertyDescriptor(NativeError, "prepareStackTrace");
  if (found?.value === OWN || found?.configurable === false) return step();
  defineProperty(NativeError, "prepareStackTrace", { value: OWN, writable: true, configurable: true });
  try {
    return step();
  } finally {
    if (found) defineProperty(NativeError, "prepareStackTrace", found);
    else deleteProperty(NativeError, "prepareStackTrace");
  }
}
