/**
 * Parses and formats durations and sizes. A number without a unit is an error, because it could be seconds or
 * milliseconds.
 */

const DURATIONS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const SIZES: Readonly<Record<string, number>> = { B: 1, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30 };

/**
 * @param text such as `500ms`, `30s`, `5m`, `12h`, `7d`
 * @returns milliseconds
 * @throws {TypeError} if the text is not a duration.
 */
export function parseDuration(text: string): number {
  return quantity(text, DURATIONS, "a duration such as 500ms, 30s, 5m, 12h or 7d");
}

/**
 * @param text such as `64KiB`, `256MiB`
 * @returns bytes
 * @throws {TypeError} if the text is not a size.
 */
export function parseSize(text: string): number {
  return quantity(text, SIZES, "a size such as 64KiB, 256MiB or 2GiB");
}

/** Formats a duration in the largest unit that divides it. */
export function formatDuration(milliseconds: number): string {
  return format(milliseconds, DURATIONS);
}

/** Formats a size in the largest unit that divides it. */
export function formatSize(bytes: number): string {
  return format(bytes, SIZES);
}

function quantity(text: string, units: Readonly<Record<string, number>>, what: string): number {
  const match = /^(\d{1,12})([a-zA-Z]+)$/.exec(text);
  const factor = match && Object.hasOwn(units, match[2]!) ? units[match[2]!]! : undefined;
  const value = factor === undefined ? Number.NaN : Number(match![1]) * factor;
  if (!Number.isSafeInteger(value)) throw new TypeError(`${JSON.stringify(text)} is not ${what}`);
  return value;
}

function format(value: number, units: Readonly<Record<string, number>>): string {
  const [unit, factor] = Object.entries(units).findLast(([, size]) => value >= size && value % size === 0) ?? ["", 1];
  return `${value / factor}${unit || Object.keys(units)[0]}`;
}

/** Returns how often, such as `an hour` for the window `hour`. */
export function perWindow(window: string): string {
  return window === "hour" ? "an hour" : `a ${window}`;
}
