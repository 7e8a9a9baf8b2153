import type { KeyUsage } from "./limiter.ts";
import { WINDOW_NAMES, type WindowName } from "./windows.ts";

/** A key's use as the API tells it: runs left by window, 0 where it is not tracked, -1 where it is and nothing is left. */
export type LimitRecord = Record<WindowName, number>;

export function limitRecord(usage: KeyUsage): LimitRecord {
  const [second, minute, hour, day, week, month] = WINDOW_NAMES.map((_, window) =>
    usage.limits[window] === 0 ? 0 : usage.remaining[window] || -1,
  );
  return { second: second!, minute: minute!, hour: hour!, day: day!, week: week!, month: month! };
}
