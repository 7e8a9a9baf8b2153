import { OTHER_FRAME_BYTES } from "../wire/bounds.ts";
import { bytesFrame } from "../wire/frames.ts";
import { LogAllowance, type LogLimits, noteOf } from "../wire/log-allowance.ts";
import { FROM_GUEST, LOG_LEVELS, type LogLevel } from "../wire/messages.ts";
import { uncurry } from "../wire/uncurry.ts";
import { send } from "./link.ts";
import type { Run } from "./run.ts";

const LIMITS: LogLimits = {
  bytes: Number(process.argv[3] ?? 262_144),
  linesPerSecond: Number(process.argv[4] ?? 1_000),
};
/** The service ends a guest whose frame is longer than it takes. */
const MAX_LINE_BYTES = OTHER_FRAME_BYTES / 2;

const prototype: Buffer = Buffer.prototype;
const subarray = uncurry(prototype, "subarray");
const toBytes = Buffer.from.bind(Buffer) as (text: string) => Buffer;
const now = performance.now.bind(performance);
const LEVEL_BYTES = LOG_LEVELS.map((_, level) => Uint8Array.of(level));
const levels = { debug: 0, info: 1, warn: 2, error: 3 };
/** Lines that belong to no run share one allowance. */
const nobody: Pick<Run, "id" | "logged"> = { id: 0, logged: null };

/** Sends one entry of a run's log, or drops it when the run has logged more than it may; one line says that. */
export function logLine(run: Run | undefined, level: LogLevel, text: string): void {
  const owner = run ?? nobody;
  owner.logged ??= new LogAllowance(LIMITS);
  const bytes = toBytes(text);
  const verdict = owner.logged.take(1 + bytes.length, now());
  if (verdict === "drop") return;
  if (verdict !== "keep") return sendLine(owner.id, "warn", toBytes(noteOf(verdict, LIMITS)));
  sendLine(owner.id, level, subarray(bytes, 0, MAX_LINE_BYTES));
  if (bytes.length <= MAX_LINE_BYTES) return;
  const note = `the line before is ${bytes.length} bytes; the first ${MAX_LINE_BYTES} are kept`;
  sendLine(owner.id, "warn", toBytes(note));
}

function sendLine(id: number, level: LogLevel, bytes: Buffer): void {
  send(bytesFrame(FROM_GUEST.log, id, LEVEL_BYTES[levels[level]]!, bytes));
}
