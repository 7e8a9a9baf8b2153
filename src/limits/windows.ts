/** The six windows over which every container and every token is throttled, the shortest first. */
export const WINDOW_NAMES = ["second", "minute", "hour", "day", "week", "month"] as const;

export type WindowName = (typeof WINDOW_NAMES)[number];

/** How long each window is, in milliseconds. A month has 31 days, so that the promise holds for every calendar month. */
export const WINDOW_MS: readonly number[] = [1_000, 60_000, 3_600_000, 86_400_000, 604_800_000, 2_678_400_000];

/** The longest window: what is older counts nowhere. */
export const LONGEST_MS = 2_678_400_000;

/** Runs allowed, by window: positive integers. A window that is not named is not limited. */
export type Limits = Readonly<Partial<Record<WindowName, number>>>;

/** Six limits in the order of `WINDOW_NAMES`; 0 where the window is not tracked. */
export type LimitVector = readonly number[];

/**
 * The limits in force: for each window the smallest of those that are set.
 *
 * @throws {TypeError} when a limit is no positive integer.
 */
export function limitVector(...sets: readonly (Limits | undefined)[]): LimitVector {
  return WINDOW_NAMES.map((window) => {
    let smallest = Infinity;
    for (const limits of sets) {
      const limit = limits?.[window];
      if (limit === undefined) continue;
      if (!Number.isSafeInteger(limit) || limit < 1) {
        throw new TypeError(`the limit of a ${window} is ${limit}, where a positive integer is needed`);
      }
      smallest = Math.min(smallest, limit);
    }
    return smallest === Infinity ? 0 : smallest;
  });
}
