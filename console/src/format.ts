const NUMBER = new Intl.NumberFormat("en");
const UNITS = ["B", "KiB", "MiB", "GiB", "TiB"];

export function count(value: number): string {
  return NUMBER.format(value);
}

/** Returns a number with its noun: `1 run`, `2 runs`. */
export function counted(value: number, noun: string): string {
  return `${count(value)} ${noun}${value === 1 ? "" : "s"}`;
}

export function bytes(value: number): string {
  const power = value < 1 ? 0 : Math.min(UNITS.length - 1, Math.floor(Math.log2(value) / 10));
  const scaled = value / 1024 ** power;
  return `${scaled < 10 && power > 0 ? scaled.toFixed(1) : Math.round(scaled)} ${UNITS[power]}`;
}

/** A duration of milliseconds: `0.4 ms`, `12 ms`, `3.2 s`, `5 min`. */
export function duration(ms: number): string {
  if (ms < 10) return `${tenths(ms)} ms`;
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${tenths(ms / 1_000)} s`;
  if (ms < 3_600_000) return `${Math.round(ms / 60_000)} min`;
  if (ms < 172_800_000) return `${tenths(ms / 3_600_000)} h`;
  return `${Math.round(ms / 86_400_000)} days`;
}

function tenths(value: number): string {
  return value.toFixed(1).replace(/\.0$/, "");
}

/** A moment as the service writes it, in UTC, without what a reader does not need: `2026-11-23 10:00:00`. */
export function moment(text: string | number | null | undefined): string {
  if (text === null || text === undefined) return "never";
  const time = typeof text === "number" ? new Date(text * 1_000) : new Date(text);
  return Number.isNaN(time.getTime()) ? String(text) : time.toISOString().slice(0, 19).replace("T", " ");
}

/** The time of day of a moment, in UTC: `10:00:00`. */
export function clock(atMs: number): string {
  return new Date(atMs).toISOString().slice(11, 19);
}

/** How long ago a moment is: `12 s ago`. */
export function ago(text: string): string {
  const ms = Date.now() - new Date(text).getTime();
  return ms < 1_000 ? "now" : `${duration(ms)} ago`;
}

/** How far ahead a moment is, in Unix seconds: `in 3.2 h`. */
export function ahead(seconds: number): string {
  const ms = seconds * 1_000 - Date.now();
  return ms <= 0 ? "ended" : `in ${duration(ms)}`;
}

/** Returns the first line of a message, without the position that the service adds. */
export function headOf(message: string): string {
  return message.split("\n", 1)[0]!.replace(/ \(line \d+, column \d+\)$/, "");
}

/** Returns how often, such as `an hour` for `hour`. */
export function perWindow(window: string): string {
  return window === "hour" ? "an hour" : `a ${window}`;
}
