/**
 * Adds runs to the store in the folder of its argument until it is killed. Writes a line for each run: `added` with its id
 * before it is added, and `read` with the id of a run that can be read.
 */
import { setTimeout as pause } from "node:timers/promises";

import { keptRun, reopenStore } from "./kept-runs.ts";

const { store } = reopenStore(process.argv[2]!);
const prefix = process.argv[3]!;

for (let count = 0; ; count++) {
  // Also runs of yesterday, so that two files are open.
  const startedMs = Date.now() - (count % 4 === 0 ? 86_400_000 : 0);
  const console = [{ atMs: 0, level: "info", text: "a line ".repeat(count % 500) }] as const;
  const kept = keptRun({ run: `${prefix}-${count.toString(36)}`, startedMs, console });
  process.stdout.write(`added ${Date.now()} ${kept.record.run}\n`);
  store.add(kept);
  if (count % 500 === 0) void report(kept.record.run);
  // Not faster than the writer, because a full queue would drop runs.
  if (count % 10 === 0) await pause(2);
  if (store.losses.dropped > 0) throw new Error("the queue was full");
}

async function report(run: string): Promise<void> {
  while ((await store.get("acme", run, run).catch(() => null)) === null);
  process.stdout.write(`read ${Date.now()} ${run}\n`);
}
