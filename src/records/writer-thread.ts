import path from "node:path";
import { workerData } from "node:worker_threads";

import { type AuditRequest, AuditWriter } from "./audit/audit-writer.ts";
import { DayWriter } from "./days/day-writer.ts";
import type { WriteRequest as RunsRequest, WriterSettings } from "./days/thread-messages.ts";
import { KeptClock } from "./kept-clock.ts";
import type { RecordThreadData } from "./record-threads.ts";
import { serveRequests } from "./serve-requests.ts";
import { usageFile } from "./usage/usage-file.ts";
import { UsageWriter, type WriteRequest } from "./usage/usage-writer.ts";

const { folder, process: name } = workerData as RecordThreadData;
const usage = new UsageWriter(usageFile(folder), name);
const audit = new AuditWriter(path.join(folder, "audit.sqlite"));
let days: DayWriter | null = null;
/** Before this process has written a file. */
const clock = KeptClock.of(folder);
const keptNow = (): number => clock.now(Date.now());

// Each request is short, or does one step of its work, because the answer to a change waits for the audit.
serveRequests({
  usage: (request: WriteRequest) => usage.fulfil(request),
  audit: (request: AuditRequest) => audit.fulfil(request),
  runs: ({ settings, batch }: RunsRequest) => (days ??= new DayWriter(settings)).write(batch, keptNow()),
  oldRuns: (settings: WriterSettings) => (days ??= new DayWriter(settings)).check(keptNow()),
  closeRuns: () => days?.close(),
});
