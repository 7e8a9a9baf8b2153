import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";

import { RecordThreads } from "../../../src/records/record-threads.ts";
import { StoredUsage, type UsageOptions } from "../../../src/records/usage/stored-usage.ts";
import type { UsageAnswer, UsageQuery, UsageRow } from "../../../src/records/usage/usage.ts";
import { BOUNDS } from "../bounds.ts";

/** A data folder that is removed when it is disposed of. */
export interface UsageFolder extends AsyncDisposable {
  readonly path: string;
  /** The folder of the counts. */
  readonly runs: string;
  open(options?: Partial<UsageOptions>): StoredUsage & AsyncDisposable;
}

export async function usageFolder(): Promise<UsageFolder> {
  const folder = await mkdtemp(path.join(tmpdir(), "caisson-usage-"));
  return {
    path: folder,
    runs: path.join(folder, "runs"),
    open: (options) => openUsage(folder, options),
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  };
}

/** Opens the counts of a data folder with their own threads, which end when the counts are disposed of. */
export function openUsage(folder: string, options?: Partial<UsageOptions>): StoredUsage & AsyncDisposable {
  const threads = new RecordThreads(folder);
  const usage = new StoredUsage(threads, { ...BOUNDS, ...options });
  return Object.assign(usage, {
    [Symbol.asyncDispose]: async () => {
      await usage.close();
      await threads.close();
    },
  });
}

/** Reads everything of the last two days. */
export async function readAll(usage: StoredUsage, members: Partial<UsageQuery> = {}): Promise<readonly UsageRow[]> {
  return (await answerOf(usage, members)).rows;
}

export function answerOf(usage: StoredUsage, members: Partial<UsageQuery> = {}): Promise<UsageAnswer> {
  const toMs = Date.now() + 60_000;
  const query = { by: "container", step: "day", fromMs: toMs - 2 * 86_400_000, toMs } as const;
  return usage.read({ ...query, permitted: ["*"], others: "all", ...members }, "reader");
}

/** Returns the number of runs in rows, of all statuses or of one. */
export function runsIn(rows: readonly UsageRow[], status?: string): number {
  const counts = rows.map(({ runs }) => (status === undefined ? Object.values(runs) : [runs[status] ?? 0]));
  return counts.flat().reduce((sum, count) => sum + count, 0);
}
