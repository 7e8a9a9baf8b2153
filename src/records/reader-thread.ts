import { workerData } from "node:worker_threads";

import { RunReads } from "./days/run-reads.ts";
import type { ReadRequest as RunsRequest } from "./days/thread-messages.ts";
import type { RecordThreadData } from "./record-threads.ts";
import { serveRequests } from "./serve-requests.ts";
import { usageFile } from "./usage/usage-file.ts";
import { type ReadRequest, UsageReads } from "./usage/usage-reads.ts";

const { folder } = workerData as RecordThreadData;
const runs = new RunReads();
const usage = new UsageReads(usageFile(folder));

serveRequests({
  usage: (request: ReadRequest) => usage.fulfil(request),
  runs: (request: RunsRequest) => runs.fulfil(request),
});
