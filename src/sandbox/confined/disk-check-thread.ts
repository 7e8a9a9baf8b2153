import { realpathSync } from "node:fs";
import { parentPort } from "node:worker_threads";

import { threadCpuMs } from "../../thread-cpu-time.ts";
import type { DiskCheckReply, DiskCheckRequest } from "./disk-checker.ts";
import { diskUse } from "./disk.ts";
import { removedUse } from "./removed.ts";

/** The processor time, in milliseconds, of a stub that becomes a guest's user: the start and the end of a process. */
const STUB_MS = 4;

/** The thread that `DiskChecker` starts. It does one check at a time. */
let last = Promise.resolve();
parentPort!.on("message", (request: DiskCheckRequest) => {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
  last = last.then(async () => parentPort!.postMessage(await check(request)));
});

async function check(request: DiskCheckRequest): Promise<DiskCheckReply> {
  const { number, limitBytes } = request;
  // Processor time, because a clock also counts the time that guests use meanwhile: a busy guest could make its checks
  // look expensive, and so be checked less often.
  const startMs = threadCpuMs();
  const folder = resolved(request.folder);
  const removed = await removedUse({ ...request, folder });
  const { bytes, isCertain } = diskUse(folder, limitBytes, removed.bytes);
  const costMs = threadCpuMs() - startMs + (removed.usedStub ? STUB_MS : 0);
  // SQLite removes a file shortly before it unmaps it, so an infinite result is not certain. A hostile guest still has the
  // file mapped at the next check.
  return { number, bytes, isCertain: isCertain && removed.bytes < Infinity, costMs };
}

/** Returns the path without symbolic links, as the kernel reports paths. */
function resolved(folder: string): string {
  try {
    return realpathSync(folder);
  } catch {
    return folder;
  }
}
