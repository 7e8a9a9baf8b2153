import { perWindow } from "../units.ts";

/** The six windows that limit every container and every token, shortest first. */
export const WINDOW_NAMES = ["second", "minute", "hour", "day", "week", "month"] as const;

export type WindowName = (typeof WINDOW_NAMES)[number];

/** The length of each window in milliseconds. A month has 31 days, so that its limit holds in every calendar month. */
export const WINDOW_MS: readonly number[] = [1_000, 60_000, 3_600_000, 86_400_000, 604_800_000, 2_678_400_000];

/** The length of the longest window in milliseconds. Older runs count nowhere. */
export const LONGEST_MS = 2_678_400_000;

/** Runs allowed, by window: positive integers. A window without a member has no limit. */
export type Limits = Readonly<Partial<Record<WindowName, number>>>;

/** Six limits in the order of `WINDOW_NAMES`; 0 if the window is not tracked. */
export type LimitVector = readonly number[];

/**
 * Returns the limits in force: the lowest limit set for each window.
 *
 * @throws {TypeError} when a limit is not a positive integer.
 */
export function limitVector(...sets: readonly (Limits | undefined)[]): LimitVector {
  return WINDOW_NAMES.map((window) => {
    let smallest = Infinity;
    for (const limits of sets) {
      const limit = limits?.[window];
      if (limit === undefined) continue;
      if (!Number.isSafeInteger(limit) || limit < 1) {
        throw new TypeError(`the limit for ${perWindow(window)} is ${limit}; it must be a positive integer`);
      }
      smallest = Math.min(smallest, limit);
    }
    return smallest === Infinity ? 0 : smallest;
  });
}
