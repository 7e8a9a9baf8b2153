/** How a duration is written: `500ms`, `30s`, `5m`, `12h`, `7d`. */
export const DURATION_FORM = "must be a duration such as 500ms, 30s, 5m, 12h or 7d";

/** Reads a duration, in milliseconds; `undefined` when it is none. A number without its unit is none. */
export function durationMs(text: string): number | undefined {
  const found = /^(\d{1,12})(ms|s|m|h|d)$/.exec(text);
  if (!found) return undefined;
  return Number(found[1]) * UNIT_MS[found[2]!]!;
}

const UNIT_MS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };
