import { realpathSync } from "node:fs";
import { parentPort } from "node:worker_threads";

import { diskUse } from "./disk.ts";
import type { LookReply, LookRequest } from "./looker.ts";
import { removedUse } from "./removed.ts";

/** What it costs to have a stub become a guest's user: the start of a process, and its end. */
const STUB_MS = 4;

/** The thread that `Looker` starts: one look after the other. */
let last = Promise.resolve();
parentPort!.on("message", (request: LookRequest) => {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
  last = last.then(async () => parentPort!.postMessage(await look(request)));
});

async function look(request: LookRequest): Promise<LookReply> {
  const { number, limitBytes } = request;
  // A clock would count what the guests take meanwhile: each could make its looks seem dear, and so have fewer of them.
  const start = process.threadCpuUsage();
  const folder = resolved(request.folder);
  const removed = await removedUse({ ...request, folder });
  const { bytes, isCertain } = diskUse(folder, limitBytes, removed.bytes);
  const { user, system } = process.threadCpuUsage(start);
  const costMs = (user + system) / 1_000 + (removed.usedStub ? STUB_MS : 0);
  // SQLite removes a file a moment before it unmaps it. A guest that holds one on purpose holds it at the next look, too.
  return { number, bytes, isCertain: isCertain && removed.bytes < Infinity, costMs };
}

/** The kernel reports paths without symbolic links. */
function resolved(folder: string): string {
  try {
    return realpathSync(folder);
  } catch {
    return folder;
  }
}
