import type { Usage } from "@caisson/client";

import { duration } from "./format.ts";
import type { Series } from "./parts/chart.tsx";

export type Entry = Usage["usage"][number];

/** What several entries have in common. */
export interface Sum {
  readonly runs: number;
  readonly failed: number;
  readonly refused: number;
  readonly cpuMs: number;
  readonly egressBytes: number;
  /** Runs by the upper bound of their duration in milliseconds, or `more`. */
  readonly durations: ReadonlyMap<string, number>;
}

const HOUR_MS = 3_600_000;
/** The statuses of runs in which no task failed. */
const GOOD: readonly string[] = ["ok", "running", "cancelled", "interrupted"];

export function sumOf(entries: readonly Entry[]): Sum {
  const durations = new Map<string, number>();
  const sum = { runs: 0, failed: 0, refused: 0, cpuMs: 0, egressBytes: 0 };
  for (const entry of entries) {
    for (const [status, value] of Object.entries(entry.runs)) {
      sum.runs += value;
      if (!GOOD.includes(status)) sum.failed += value;
    }
    for (const value of Object.values(entry.refused)) sum.refused += value;
    for (const [bound, value] of Object.entries(entry.durations))
      durations.set(bound, (durations.get(bound) ?? 0) + value);
    sum.cpuMs += entry.cpuMs;
    sum.egressBytes += entry.egressBytes;
  }
  return { ...sum, durations };
}

/** Returns the start of the hour from which on this number of hours has begun, the current one included. */
export function hoursAgo(hours: number): string {
  return new Date(Math.floor(Date.now() / HOUR_MS) * HOUR_MS - (hours - 1) * HOUR_MS).toISOString();
}

/** Adds up the entries of each step, also of steps without a run. */
export function seriesOf(entries: readonly Entry[], from: string, step: "hour" | "day"): Series {
  const stepMs = step === "hour" ? HOUR_MS : 24 * HOUR_MS;
  const byTime = Map.groupBy(entries, (entry) => Math.floor(Date.parse(entry.from) / stepMs));
  const first = Math.floor(Date.parse(from) / stepMs);
  const last = Math.floor(Date.now() / stepMs);
  const steps = Array.from({ length: last - first + 1 }, (_, at) => first + at);
  const figures = steps.map((at) => sumOf(byTime.get(at) ?? []));
  return {
    times: steps.map((at) => (at * stepMs) / 1_000),
    lines: [
      { name: "runs", values: figures.map(({ runs }) => runs), colour: "--accent" },
      { name: "errors", values: figures.map(({ failed }) => failed), colour: "--bad" },
      { name: "refused", values: figures.map(({ refused }) => refused), colour: "--warn" },
    ],
  };
}

/** Returns the bound of the histogram below which this part of the runs ended. */
export function quantile(durations: ReadonlyMap<string, number>, part: number): string {
  const bounds = [...durations].map(([bound, value]) => [bound === "more" ? Infinity : Number(bound), value] as const);
  const ordered = bounds.toSorted(([a], [b]) => a - b);
  const all = ordered.reduce((sum, [, value]) => sum + value, 0);
  let seen = 0;
  for (const [bound, value] of ordered) {
    seen += value;
    if (seen >= part * all) return bound === Infinity ? "over 5 min" : `≤ ${duration(bound)}`;
  }
  return "none";
}
