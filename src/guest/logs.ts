import { OTHER_FRAME_BYTES } from "../wire/bounds.ts";
import { bytesFrame } from "../wire/frames.ts";
import { FROM_GUEST, LOG_LEVELS, type LogLevel } from "../wire/messages.ts";
import { uncurry } from "../wire/uncurry.ts";
import { send } from "./link.ts";
import type { Run } from "./run.ts";

/** A run that logs in a loop must not fill the service's memory or the reader's screen. */
const MAX_LOG_BYTES = 262_144;

/** The service ends a guest whose frame is longer than it takes. */
const MAX_LINE_BYTES = OTHER_FRAME_BYTES / 2;

const prototype: Buffer = Buffer.prototype;
const subarray = uncurry(prototype, "subarray");
const toBytes = Buffer.from.bind(Buffer) as (text: string) => Buffer;
const LEVEL_BYTES = LOG_LEVELS.map((_, level) => Uint8Array.of(level));
const levels = { debug: 0, info: 1, warn: 2, error: 3 };
/** Lines that belong to no run share one allowance. */
const nobody = { id: 0, logBytes: 0, logCut: false };

/** Sends one entry of a run's log. After 256 KiB of a run, one line says that the rest is dropped. */
export function logLine(run: Run | undefined, level: LogLevel, text: string): void {
  const owner = run ?? nobody;
  if (owner.logCut) return;
  const bytes = toBytes(text);
  owner.logBytes += bytes.length;
  if (owner.logBytes <= MAX_LOG_BYTES) {
    sendLine(owner.id, level, subarray(bytes, 0, MAX_LINE_BYTES));
    if (bytes.length <= MAX_LINE_BYTES) return;
    return sendLine(
      owner.id,
      "warn",
      toBytes(`the line before is ${bytes.length} bytes; the first ${MAX_LINE_BYTES} are kept`),
    );
  }
  owner.logCut = true;
  sendLine(owner.id, "warn", toBytes(`the run has logged ${MAX_LOG_BYTES} bytes; the rest is dropped`));
}

function sendLine(id: number, level: LogLevel, bytes: Buffer): void {
  send(bytesFrame(FROM_GUEST.log, id, LEVEL_BYTES[levels[level]]!, bytes));
}
