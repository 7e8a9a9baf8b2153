import path from "node:path";

import type { Config } from "../config.ts";
import { StoredAudit } from "../records/audit/stored-audit.ts";
import { openRecordStore } from "../records/days/day-store.ts";
import { KeptClock } from "../records/kept-clock.ts";
import { moveHistory } from "../records/move-history.ts";
import { refuseNewerHistory } from "../records/newer-history.ts";
import { RecordThreads } from "../records/record-threads.ts";
import type { RecordStore } from "../records/store.ts";
import { StoredUsage } from "../records/usage/stored-usage.ts";
import type { Identity } from "../sandbox/privilege.ts";
import { reachableFolder } from "../sandbox/reachable-folder.ts";
import { giveFolder } from "../sandbox/temp/give-folder.ts";
import type { Log } from "../telemetry/log.ts";

/** What the service keeps on disk about its past: records of runs, usage and the audit. */
export interface History extends AsyncDisposable {
  readonly folder: string;
  readonly threads: RecordThreads;
  readonly usage: StoredUsage;
  readonly recordStore: RecordStore;
  readonly audit: StoredAudit;
}

/**
 * Opens the history.
 *
 * @param folder the data folder as the service reaches it
 * @param data the absolute path of the data folder
 * @param identity the user that root gives the service; null if the service is not started as root
 */
export async function openHistory(
  folder: string,
  data: string,
  identity: Identity | null,
  config: Config,
  log: Log,
): Promise<History> {
  const onFailure = (error: Error): void => log.pino.error(error.message);
  const own = identity ? await historyFolder(data, identity, log) : folder;
  refuseNewerHistory(own);
  await using closers = new AsyncDisposableStack();
  const threads = closers.adopt(new RecordThreads(own), (open) => open.close());
  const clock = KeptClock.of(own);
  const options = { ...config, onFailure, keptNow: (nowMs: number): number => clock.now(nowMs) };
  const usage = closers.adopt(new StoredUsage(threads, options), (open) => open.close());
  const recordStore = closers.adopt(openRecordStore(path.join(own, "runs"), threads, config), (open) => open.close());
  const audit = closers.adopt(new StoredAudit(threads, options), (open) => open.close());
  const opened = closers.move();
  return { folder: own, threads, usage, recordStore, audit, [Symbol.asyncDispose]: () => opened.disposeAsync() };
}

/** Returns the folder of the records of runs, the usage and the audit. They open files after the service has given up root. */
async function historyFolder(data: string, identity: Identity, log: Log): Promise<string> {
  const folder = await reachableFolder(data, identity);
  // A relative path reaches the data folder below any folder.
  if (folder === data) return ".";
  if (moveHistory(".", folder)) await giveFolder(folder, identity);
  log.pino.warn(
    `records of runs, usage and audit are in ${folder}, because the service's user may not search the folders above ${data}`,
  );
  return folder;
}
