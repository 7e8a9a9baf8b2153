import type { Gateway } from "../../egress/gateway.ts";
import type { Problem } from "../../errors.ts";
import { FROM_GUEST } from "../../wire/messages.ts";
import { decodeResultHint } from "../../wire/result-hints.ts";
import type { Heartbeat } from "../watch/heartbeat.ts";
import type { CodeTable } from "./code-table.ts";
import type { GuestLimits } from "./guest-limits.ts";
import type { GuestRun } from "./guest-run.ts";
import { resultHint, unreturnedHint } from "./hint-texts.ts";
import type { Noise } from "./noise.ts";
import { parseFault } from "./parse-messages.ts";
import type { RunsInFlight } from "./runs-in-flight.ts";
import type { Upload } from "./upload.ts";

/** The part of a guest that its frames can change. */
export interface FrameTarget {
  readonly limits: GuestLimits;
  readonly inFlight: RunsInFlight;
  readonly codes: CodeTable;
  readonly heartbeat: Heartbeat;
  readonly gateway: Gateway;
  readonly draining: boolean;
  /** Whether it is replaced as soon as there is room. */
  readonly isDue: boolean;
  readonly noise: Noise;
  /** Notes the end of its start. @returns false if it has reported that before. */
  warmedUp(): boolean;
  retireWhenPossible(): void;
  /** Ends a run whose answer is complete. */
  answerComplete(id: number, guestRun: GuestRun): void;
  /** @param endsGuest whether the guest must take no other run. */
  failed(id: number, guestRun: GuestRun, problem: Problem, endsGuest: boolean): void;
  /** @param framesReceived the frames that the guest had received when it reported the run */
  stalled(id: number, guestRun: GuestRun, framesReceived: number): void;
  /** Makes JavaScript from texts of a run's code. */
  transform(id: number, guestRun: GuestRun, payload: Buffer): void;
}

const KNOWN_TYPES: ReadonlySet<number> = new Set(Object.values(FROM_GUEST));

/**
 * Handles a frame of a guest. All of it is hostile input.
 *
 * @throws {Error} if honest code could not have sent the frame. The service then ends the guest, and no other guest.
 */
export function receiveFrame(guest: FrameTarget, type: number, id: number, payload: Buffer): void {
  switch (type) {
    case FROM_GUEST.ready:
      return guest.warmedUp() ? undefined : countUnsolicited(guest);
    case FROM_GUEST.pong:
      return guest.heartbeat.accept(id) ? undefined : countUnsolicited(guest);
    case FROM_GUEST.retire:
      return guest.draining || guest.isDue ? countUnsolicited(guest) : guest.retireWhenPossible();
    case FROM_GUEST.compiled:
      return guest.codes.compiled(id, payload) ? undefined : countUnsolicited(guest);
    case FROM_GUEST.log:
    case FROM_GUEST.lateError:
      return receiveLogLine(guest, type, id, payload);
  }
  if ((type >= FROM_GUEST.open && type <= FROM_GUEST.lookup) || type === FROM_GUEST.sender) {
    return guest.gateway.receive(type, id, payload) ? undefined : countUnsolicited(guest);
  }
  // Checked before anything is parsed, because parsing an unsolicited frame would waste the service's time.
  const guestRun = guest.inFlight.get(id);
  if (type === FROM_GUEST.bodyMore)
    return guestRun?.upload ? receiveWindow(guestRun.upload, payload) : countUnsolicited(guest);
  if (type === FROM_GUEST.done)
    return guestRun?.answered ? guest.inFlight.finish(id, guestRun) : countUnsolicited(guest);
  if (guestRun && !guestRun.answered) return receiveAnswer(guest, type, id, guestRun, payload);
  return KNOWN_TYPES.has(type) ? countUnsolicited(guest) : refuse(unknown(type));
}

function receiveWindow(upload: Upload, payload: Buffer): void {
  if (payload.length !== 4) return refuse("a window that is not a number");
  const bytes = payload.readUInt32LE();
  if (bytes === 0) return refuse("a window of no bytes");
  upload.more(bytes);
}

function receiveAnswer(guest: FrameTarget, type: number, id: number, guestRun: GuestRun, payload: Buffer): void {
  switch (type) {
    case FROM_GUEST.waits:
      if (guestRun.waits) return countUnsolicited(guest);
      guestRun.waits = true;
      return;
    case FROM_GUEST.stalled:
      if (payload.length !== 4) return refuse("a report without its number");
      return guest.stalled(id, guestRun, payload.readUInt32LE());
    case FROM_GUEST.unreturned:
      if (payload.length !== 4) return refuse("a line that is not a number");
      return receiveHint(guest, guestRun, unreturnedHint(payload.readUInt32LE()));
    case FROM_GUEST.resultHint: {
      const decoded = decodeResultHint(payload);
      if (!decoded) return refuse("a hint of an unknown form");
      return receiveHint(guest, guestRun, resultHint(decoded.hint, decoded.path));
    }
    case FROM_GUEST.result:
      if (guestRun.streaming) return refuse("a result after a head");
      guestRun.listener.result(payload);
      return guest.answerComplete(id, guestRun);
    case FROM_GUEST.head:
      return guestRun.head(payload, guest.limits.streamMs);
    case FROM_GUEST.data:
      return guestRun.data(payload);
    case FROM_GUEST.end:
      if (!guestRun.streaming) return refuse("an end before its head");
      guestRun.listener.end();
      return guest.answerComplete(id, guestRun);
    case FROM_GUEST.fault: {
      const { problem, retire } = parseFault(payload);
      return guest.failed(id, guestRun, problem, retire);
    }
    case FROM_GUEST.transform:
      return guest.transform(id, guestRun, payload);
    default:
      return refuse(unknown(type));
  }
}

/** Passes the first hint of a run on. */
function receiveHint(guest: FrameTarget, guestRun: GuestRun, hint: string): void {
  if (guestRun.hasHint) return countUnsolicited(guest);
  guestRun.hasHint = true;
  guestRun.listener.hinted?.(hint);
}

/** Handles a log line or late error, perhaps of an ended run. The id 0 means the only run in flight, if there is only one. */
function receiveLogLine(guest: FrameTarget, type: number, id: number, payload: Buffer): void {
  const { inFlight } = guest;
  const { logs } = guest.limits;
  const runId = id === 0 ? (inFlight.only ?? 0) : id;
  const log = inFlight.get(runId)?.log ?? inFlight.past.logOf(runId);
  const accepted = type === FROM_GUEST.log ? log?.line(payload, logs) : log?.lateError(payload, logs);
  if (!accepted) countUnsolicited(guest);
}

/** Counts an unsolicited frame. It is honest if it crossed with an abort. Masses are an attack on the service's time. */
function countUnsolicited(guest: FrameTarget): void {
  if (guest.noise.add()) refuse("more unsolicited frames than honest code sends");
}

function unknown(type: number): string {
  return `a frame of the unknown type ${type}`;
}

function refuse(what: string): never {
  throw new Error(what);
}
