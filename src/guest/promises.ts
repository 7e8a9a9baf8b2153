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
 * Hands over what `value` comes to: at once when it is no thenable, because a turn through the queue of promises would be
 * most of what a small run costs.
 *
 * @throws whatever a `then` getter throws, and what `onValue` throws when it is called at once.
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

/** `promise.catch(onError)`, which would go through a `then` that a task may have replaced. */
export function onRejection(promise: Promise<unknown>, onError: (error: unknown) => unknown): Promise<unknown> {
  return then(promise, undefined, onError);
}

export function isThenable(value: unknown): value is PromiseLike<unknown> {
  if (value === null || (typeof value !== "object" && typeof value !== "function")) return false;
  return typeof (value as { then?: unknown }).then === "function";
}

function adopt(value: PromiseLike<unknown>): Promise<unknown> {
  // A foreign `then` may call back twice or at once; only a real promise keeps the first answer.
  return new NativePromise((resolve) => {
    resolve(value);
  });
}
