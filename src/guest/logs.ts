import { OTHER_FRAME_BYTES } from "../wire/bounds.ts";
import { bytesFrame, textFrame } from "../wire/frames.ts";
import { LogAllowance, type LogLimits, noteOf } from "../wire/log-allowance.ts";
import { FROM_GUEST, LOG_LEVELS, type LogLevel } from "../wire/messages.ts";
import { uncurry } from "../wire/uncurry.ts";
import { now } from "./clock.ts";
import { encodeFault, threwFault } from "./faults.ts";
import type { Run } from "./run.ts";
import { flushLink, send } from "./service-link.ts";

const LIMITS: LogLimits = {
  bytes: Number(process.argv[3] ?? 262_144),
  linesPerSecond: Number(process.argv[4] ?? 1_000),
};
/** Half the frame limit: the service ends a guest that sends a longer frame. */
const MAX_LINE_BYTES = OTHER_FRAME_BYTES / 2;

const prototype: Buffer = Buffer.prototype;
const subarray = uncurry(prototype, "subarray");
const toBytes = Buffer.from.bind(Buffer) as (text: string) => Buffer;
const byteLength = Buffer.byteLength.bind(Buffer);
const LEVEL_BYTES = LOG_LEVELS.map((_, level) => Uint8Array.of(level));
const levels = { debug: 0, info: 1, warn: 2, error: 3 };
type Owner = Pick<Run, "id" | "logged">;
/** All lines without a run share one allowance. */
const NO_RUN: Owner = { id: 0, logged: null };

/** Sends one entry of a run's log. Drops the entry if the run exceeds its log limits; one line in the log reports that. */
export function logLine(run: Run | undefined, level: LogLevel, text: string): void {
  const owner = run ?? NO_RUN;
  const bytes = toBytes(text);
  if (!mayLog(owner, 1 + bytes.length)) return;
  sendLine(owner.id, level, subarray(bytes, 0, MAX_LINE_BYTES));
  if (bytes.length <= MAX_LINE_BYTES) return;
  const note = `the previous line has ${bytes.length} bytes; only the first ${MAX_LINE_BYTES} were logged`;
  sendLine(owner.id, "warn", toBytes(note));
}

/** Reports a failure that the run's result cannot report, because the result was sent already. It counts as a log line. */
export function reportLateError(run: Run, where: string, error: unknown): void {
  const fault = threwFault(error);
  const text = encodeFault(run.code.explain({ ...fault, detail: `${where}: ${fault.detail}` }, run));
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
  // Flushed now and not at the end of the turn: the line before an endless loop shows where the loop is.
  flushLink();
}
