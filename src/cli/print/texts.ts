import { perWindow } from "../../units.ts";

/** Writes the values of answers for readers. Times are in UTC. */

/** @param time RFC 3339, as in the answers of the service. @returns such as `2026-11-24 10:00:00Z` */
export function timeText(time: string | null): string {
  const date = new Date(time ?? Number.NaN);
  return Number.isNaN(date.getTime()) ? "-" : date.toISOString().replace("T", " ").replace(/\.\d+/, "");
}

/** @param unixS Unix seconds, or null for no end */
export function endText(unixS: number | null): string {
  return unixS === null ? "never" : timeText(new Date(unixS * 1_000).toISOString());
}

/** @returns such as `60 a minute, 1000 a day`, or `-` */
export function limitsText(limits: Readonly<Record<string, number | undefined>> | undefined): string {
  const set = Object.entries(limits ?? {}).filter(([, limit]) => limit !== undefined);
  return set.length === 0 ? "-" : set.map(([window, limit]) => `${limit} ${perWindow(window)}`).join(", ");
}

/** @returns such as `env=prod, team=billing`, or null if there are none */
export function labelsText(labels: Readonly<Record<string, string>>): string | null {
  const pairs = Object.entries(labels).map(([name, value]) => (value === "" ? name : `${name}=${value}`));
  return pairs.length === 0 ? null : pairs.join(", ");
}

/** @returns such as `12 ms`, `1.5 s`, `3 m 20 s` */
export function msText(ms: number | null): string {
  if (ms === null) return "-";
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1_000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1_000);
  return seconds < 3_600
    ? `${Math.floor(seconds / 60)} m ${seconds % 60} s`
    : `${Math.floor(seconds / 3_600)} h ${Math.floor((seconds % 3_600) / 60)} m`;
}

/** @returns such as `512 B`, `1.5 KiB` */
export function bytesText(bytes: number): string {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let value = bytes;
  let unit = 0;
  while (value >= 1_024 && unit < units.length - 1) {
    value /= 1_024;
    unit += 1;
  }
  return unit === 0 ? `${value} B` : `${value.toFixed(1)} ${units[unit]}`;
}

/** @returns such as `1 task`, `2 tasks` */
export function countText(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}
