import { OTHER_FRAME_BYTES } from "../wire/bounds.ts";
import { bytesFrame, textFrame } from "../wire/frames.ts";
import { LogAllowance, type LogLimits, noteOf } from "../wire/log-allowance.ts";
import { FROM_GUEST, LOG_LEVELS, type LogLevel } from "../wire/messages.ts";
import { uncurry } from "../wire/uncurry.ts";
import { now } from "./clock.ts";
import { encodeFault, threwFault } from "./faults.ts";
import { flushLink, send } from "./link.ts";
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
const byteLength = Buffer.byteLength.bind(Buffer);
const LEVEL_BYTES = LOG_LEVELS.map((_, level) => Uint8Array.of(level));
const levels = { debug: 0, info: 1, warn: 2, error: 3 };
type Owner = Pick<Run, "id" | "logged">;
/** Lines that belong to no run share one allowance. */
const nobody: Owner = { id: 0, logged: null };

/** Sends one entry of a run's log, or drops it when the run has logged more than it may; one line says that. */
export function logLine(run: Run | undefined, level: LogLevel, text: string): void {
  const owner = run ?? nobody;
  const bytes = toBytes(text);
  if (!mayLog(owner, 1 + bytes.length)) return;
  sendLine(owner.id, level, subarray(bytes, 0, MAX_LINE_BYTES));
  if (bytes.length <= MAX_LINE_BYTES) return;
  const note = `the line before is ${bytes.length} bytes; the first ${MAX_LINE_BYTES} are kept`;
  sendLine(owner.id, "warn", toBytes(note));
}

/** Tells of a failure that no answer tells of: the run has its answer, or will get another. It counts as a line of its log. */
export function tellUnheard(run: Run, where: string, error: unknown): void {
  const fault = threwFault(error);
  const text = encodeFault({ ...fault, detail: `${where}: ${fault.detail}` });
  if (mayLog(run, byteLength(text))) send(textFrame(FROM_GUEST.lateError, run.id, text));
}

function mayLog(owner: Owner, bytes: number): boolean {
  owner.logged ??= new LogAllowance(LIMITS);
  const verdict = owner.logged.take(bytes, now());
  if (verdict === "full" || verdict === "fast") sendLine(owner.id, "warn", toBytes(noteOf(verdict, LIMITS)));
  return verdict === "keep";
}

function sendLine(id: number, level: LogLevel, bytes: Buffer): void {
  send(bytesFrame(FROM_GUEST.log, id, LEVEL_BYTES[levels[level]]!, bytes));
  // Now, and not at the end of the turn: the line before a loop that never ends is the one that tells where it is.
  flushLink();
}
