import path from "node:path";
import { workerData } from "node:worker_threads";

import { type AuditRequest, AuditWriter } from "./audit/audit-writer.ts";
import type { RecordThreadData } from "./record-threads.ts";
import { serveRequests } from "./serve-requests.ts";
import { usageFile } from "./usage/usage-file.ts";
import { UsageWriter, type WriteRequest } from "./usage/usage-writer.ts";

const { folder, process: name } = workerData as RecordThreadData;
const usage = new UsageWriter(usageFile(folder), name);
const audit = new AuditWriter(path.join(folder, "audit.sqlite"));

serveRequests({
  usage: (request: WriteRequest) => usage.fulfil(request),
  audit: (request: AuditRequest) => audit.fulfil(request),
});
