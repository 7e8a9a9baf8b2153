import { z } from "zod";

import { type Limits, WINDOW_NAMES } from "./windows.ts";

/** The highest limit that may be set: counts up to it are exact as a number in memory, in the journal and in headers. */
const MAX_LIMIT = 1_000_000_000;

const LIMIT = `must be a whole number from 1 to ${MAX_LIMIT}; leave the window out for no limit`;
const WINDOWS = `must be an object with any of ${WINDOW_NAMES.join(", ")}, such as {"minute": 3}`;
const NO_OBJECT = { error: (issue: { code: string }) => (issue.code === "invalid_type" ? WINDOWS : undefined) };

/** The limit of one window, in runs. */
const limit = z.int({ error: LIMIT, abort: true }).min(1, LIMIT).max(MAX_LIMIT, LIMIT);

/** Limits by window, as a token carries them. */
export const limitsMember: z.ZodType<Limits> = z.strictObject(windows(limit.exactOptional()), NO_OBJECT);

/** Limits by window, as an administrator sets them: `null` removes the limit of a window. */
export const settableLimitsMember: z.ZodType<SettableLimits> = z.strictObject(
  windows(limit.nullable().exactOptional()),
  NO_OBJECT,
);

export type SettableLimits = { readonly [Window in keyof Limits]: number | null };

function windows<T>(each: T): Record<keyof Limits, T> {
  return { second: each, minute: each, hour: each, day: each, week: each, month: each };
}
