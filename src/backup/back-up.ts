import { statSync } from "node:fs";
import { setPriority } from "node:os";
import { pipeline } from "node:stream/promises";

import { ConfigError } from "../config/read.ts";
import { askService, connectTo } from "./ask-service.ts";
import type { Part } from "./part.ts";
import { type BackupOptions, partsOf } from "./parts-of.ts";
import { lockStopped, type StoppedPlaces } from "./stopped-folder.ts";
import { checkTarget, writeTarget } from "./target-file.ts";
import { tarOf } from "./write-tar.ts";

export interface BackupRequest extends BackupOptions, StoppedPlaces {
  /** The absolute path of the file to write; null writes to stdout. */
  readonly file: string | null;
  /** Whether an existing file may be replaced. */
  readonly replace: boolean;
}

export interface BackupSummary {
  readonly parts: number;
  readonly bytes: number;
  /** Whether the folder has the counts, and not a Redis. */
  readonly hasCounts: boolean;
  readonly isRunning: boolean;
}

/** The niceness of this process. The service and its runs come first on a busy machine. */
const NICENESS = 10;

/**
 * Backs up a data folder: the service that uses it reads its own files. If no service runs, this process locks the folder and
 * reads them.
 *
 * @param warn receives what is left out
 * @throws {ConfigError} if the folder or the file cannot be used as named.
 * @throws {Error} if the backup cannot be made. Then there is no new file.
 */
export async function backUp(request: BackupRequest, warn: (warning: string) => void): Promise<BackupSummary> {
  const { data, file, replace } = request;
  if (!statSync(data, { throwIfNoEntry: false })?.isDirectory()) {
    throw new ConfigError(`--data: there is no folder ${data}; name the data folder of the service`);
  }
  if (file !== null) checkTarget({ file, data, replace });
  setPriority(NICENESS);
  const service = await connectTo(data);
  using stopped = service === null ? await lockStopped(request) : null;
  const parts = stopped ? partsOf(stopped.source, request, warn) : askService(service!, request, warn);
  const summary = { parts: 0, bytes: 0, hasCounts: false, isRunning: service !== null };
  const tar = tarOf(counted(parts, summary), Date.now());
  if (file === null) await pipeline(tar, process.stdout);
  else await writeTarget({ file, data, replace }, tar);
  return summary;
}

async function* counted(
  parts: AsyncIterable<Part>,
  summary: { parts: number; bytes: number; hasCounts: boolean },
): AsyncGenerator<Part> {
  for await (const part of parts) {
    yield part;
    summary.parts++;
    summary.bytes += part.bytes;
    summary.hasCounts ||= part.name.startsWith("limits/");
  }
}
