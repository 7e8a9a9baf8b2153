import { types } from "node:util";

import { uncurry } from "../wire/uncurry.ts";

const { isPromise } = types;
const then = uncurry(Promise.prototype as Promise<unknown>, "then") as (
  promise: Promise<unknown>,
  onValue: ((value: unknown) => void) | undefined,
  onError: (error: unknown) => unknown,
) => Promise<unknown>;
const NativePromise = Promise;

/**
 * Calls `onValue` with the settled value, or `onError` with the rejection. If `value` is not a thenable, the call is
 * synchronous, because a turn of the microtask queue would be most of the cost of a small run.
 *
 * @throws the error of a `then` getter, and the error of `onValue` if it is called synchronously.
 */
export function whenSettled(
  value: unknown,
  onValue: (value: unknown) => void,
  onError: (error: unknown) => void,
): void {
  if (isPromise(value)) void then(value, onValue, onError);
  else if (isThenable(value)) void then(adopt(value), onValue, onError);
  else onValue(value);
}

/** Does what `promise.catch(onError)` does. `catch` would call `promise.then`, which a task may have replaced. */
export function onRejection(promise: Promise<unknown>, onError: (error: unknown) => unknown): Promise<unknown> {
  return then(promise, undefined, onError);
}

export function isThenable(value: unknown): value is PromiseLike<unknown> {
  if (value === null || (typeof value !== "object" && typeof value !== "function")) return false;
  return typeof (value as { then?: unknown }).then === "function";
}

function adopt(value: PromiseLike<unknown>): Promise<unknown> {
  // A foreign `then` may call back twice or synchronously. A native promise uses only the first call.
  return new NativePromise((resolve) => {
    resolve(value);
  });
}
