import { readFile } from "node:fs/promises";

import type { DrainTarget } from "../../config/drain-target.ts";
import type { RecordConfig } from "../../config/groups/records.ts";
import type { Drain, DrainSink } from "./drain.ts";
import { FileSink } from "./file-sink.ts";
import { HttpSink } from "./http-sink.ts";
import { QueuedDrain, type QueueOptions } from "./queued-drain.ts";
import { StdoutSink } from "./stdout-sink.ts";

export type DrainConfig = Pick<
  RecordConfig,
  "logDrain" | "logDrainRate" | "logDrainAuthorization" | "diskQueue" | "countedFamilies"
>;

/**
 * Opens the drain of the settings. A file is opened at the first record, as the user that the service becomes.
 *
 * @returns null if the settings have none.
 * @throws {Error} if the file with the authorization cannot be used. The message does not contain its content.
 */
export async function openDrain(config: DrainConfig, options: QueueOptions = {}): Promise<Drain | null> {
  const { logDrain, logDrainRate: rateBytes, logDrainAuthorization, diskQueue: queueBytes, countedFamilies } = config;
  if (logDrain === null) return null;
  const authorization = logDrainAuthorization === null ? null : await readAuthorization(logDrainAuthorization);
  return new QueuedDrain(sinkOf(logDrain, authorization), {
    ...{ rateBytes, queueBytes, counted: countedFamilies },
    ...options,
  });
}

function sinkOf(target: DrainTarget, authorization: string | null): DrainSink {
  if (target.kind === "stdout") return new StdoutSink();
  return target.kind === "file" ? new FileSink(target.path) : new HttpSink(target.url, authorization);
}

async function readAuthorization(file: string): Promise<string> {
  const text = (await readFile(file, "utf8")).trim();
  // RFC 9110, section 5.5: visible characters and spaces.
  if (/^[\x21-\x7e][\x20-\x7e]*$/.test(text)) return text;
  throw new Error(`--log-drain-authorization: ${file} must contain one line of ASCII, such as: Bearer <token>`);
}
