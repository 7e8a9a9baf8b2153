import { RUN_STATUSES, type RunStatus } from "../record.ts";

/** The layout of the numbers of a cell, in memory, in messages to the writer and in the columns of its tables. */
export const ADMITTED = 0;
export const ENDED = 1;
export const REFUSED = 2;
export const RUN_MS = 3;
export const CPU_MS = 4;
export const EGRESS_BYTES = 5;
const FIRST_STATUS = 6;

/** The statuses of runs that have ended. */
export const ENDINGS: readonly RunStatus[] = RUN_STATUSES.filter((status) => status !== "running");

/** The bounds of the histogram of durations, in milliseconds. A last bucket has all longer runs. */
export const DURATION_BOUNDS_MS: readonly number[] = [
  1, 3, 10, 30, 100, 300, 1_000, 3_000, 10_000, 30_000, 100_000, 300_000,
];
const FIRST_DURATION = FIRST_STATUS + ENDINGS.length;

/** The columns of the numbers, in the order of the layout. */
export const COLUMNS: readonly string[] = [
  ...["admitted", "ended", "refused", "run_ms", "cpu_ms", "egress_bytes"],
  ...ENDINGS.map((status) => `ended_${status}`),
  ...DURATION_BOUNDS_MS.map((bound) => `duration_${bound}`),
  "duration_more",
];
export const WIDTH: number = COLUMNS.length;

const placeByStatus: ReadonlyMap<string, number> = new Map(
  ENDINGS.map((status, index) => [status, FIRST_STATUS + index]),
);

/** Returns the place of a status in the numbers; undefined for `running`. */
export function placeOfStatus(status: string): number | undefined {
  return placeByStatus.get(status);
}

/** Returns the place of a duration in the numbers. */
export function placeOfDuration(ms: number): number {
  let place = FIRST_DURATION;
  for (const bound of DURATION_BOUNDS_MS) {
    if (ms <= bound) break;
    place++;
  }
  return place;
}

/** Returns the counts by status of a row of numbers. Runs that have not ended are `running`. */
export function runsOf(numbers: readonly number[]): Record<string, number> {
  const runs: Record<string, number> = {};
  for (const [index, status] of ENDINGS.entries()) {
    const count = numbers[FIRST_STATUS + index]!;
    if (count > 0) runs[status] = count;
  }
  const running = numbers[ADMITTED]! - numbers[ENDED]!;
  if (running > 0) runs["running"] = running;
  return runs;
}

/** Returns the histogram of a row of numbers, without empty buckets. */
export function durationsOf(numbers: readonly number[]): Record<string, number> {
  const durations: Record<string, number> = {};
  for (const [index, name] of [...DURATION_BOUNDS_MS.map(String), "more"].entries()) {
    const count = numbers[FIRST_DURATION + index]!;
    if (count > 0) durations[name] = count;
  }
  return durations;
}
