import type { Lock } from "../../packages/model.ts";

/** Returns a lock as answers show it. */
export function shownLock(lock: Lock | null): object | null {
  return lock && { ...lock, at: new Date(lock.at).toISOString() };
}
