import type { ShownOrigin } from "./limit-origin.ts";
import type { KeyReading, KeyUsage } from "./store.ts";
import { WINDOW_NAMES, type WindowName } from "./windows.ts";

/** A key's use as the API reports it: the runs left by window; 0 if the window is not tracked, -1 if no run is left. */
export type LimitRecord = Record<WindowName, number>;

/** The detail of one window that the API reports on request. Members are null if no limit is tracked. */
export interface WindowDetail {
  readonly limit: number | null;
  /** Runs that would be admitted now. */
  readonly remaining: number | null;
  /** Runs that count now. This exceeds the limit after the limit was lowered. */
  readonly used: number;
  /** Seconds until `remaining` next grows, rounded up; 0 when nothing is used. */
  readonly resetSeconds: number | null;
  /** The place where the limit was set; null without a limit. */
  readonly setBy: ShownOrigin["setBy"] | null;
  /** The token that set the limit, if the caller may know it. */
  readonly jti?: string;
}

export function limitRecord(usage: KeyUsage): LimitRecord {
  return byWindow((window) => (usage.limits[window] === 0 ? 0 : usage.remaining[window] || -1));
}

/** @param originOf returns where the limit of a window was set */
export function limitDetail(
  { limits, remaining, used, resetMs }: KeyReading,
  originOf: (window: WindowName, limit: number) => ShownOrigin,
): Record<WindowName, WindowDetail> {
  return byWindow((window) => {
    if (limits[window] === 0)
      return { limit: null, remaining: null, used: used[window]!, resetSeconds: null, setBy: null };
    const resetSeconds = Math.ceil(resetMs[window]! / 1_000);
    const limit = limits[window]!;
    const origin = originOf(WINDOW_NAMES[window]!, limit);
    return { limit, remaining: remaining[window]!, used: used[window]!, resetSeconds, ...origin };
  });
}

/** Returns the runs that count now, by window. */
export function useRecord({ used }: KeyReading): Record<WindowName, number> {
  return byWindow((window) => used[window]!);
}

function byWindow<Value>(valueOf: (window: number) => Value): Record<WindowName, Value> {
  const [second, minute, hour, day, week, month] = WINDOW_NAMES.map((_, window) => valueOf(window));
  return { second: second!, minute: minute!, hour: hour!, day: day!, week: week!, month: month! };
}
