import { numberFrame } from "../wire/frames.ts";
import { FROM_GUEST } from "../wire/messages.ts";
import { uncurry } from "../wire/uncurry.ts";
import { hasWorkers } from "./network/main-thread.ts";
import type { Run } from "./run.ts";
import { onlyOpenRun } from "./runner.ts";
import { framesReceived, holdLoop, releaseLoop, send } from "./service-link.ts";

/**
 * Finds out whether a run can still end, when it is the only one of the guest. Node ends a process when nothing is left that
 * could call code again, and emits `beforeExit` before. Only the link to the service keeps a guest alive then. So the guest
 * lets go of the link for a moment, and looks whether the event loop ends. It costs a run nothing: the pings of the service
 * start it, and the first of them after some hundred milliseconds.
 */

/** The pings that a run waits for before the guest looks, and between two looks. The service sends ten a second. */
const FIRST_PINGS = 4;
const FURTHER_PINGS = 10;
/** How often in a row the event loop must have ended, without a frame in between. Until the second time, everything queued has executed. */
const ENDS = 2;
/** The handles of Node itself and of the link. Any other that is active may call code, although it does not keep Node alive. */
const OWN_HANDLES = ["async", "check", "idle", "prepare", "loop", "pipe"];

const later = setTimeout;
const immediate = setImmediate;
const on = process.on.bind(process);
const listeners = process.listeners.bind(process);
const includes = uncurry(Array.prototype as unknown[], "includes");

let suspect: Run | null = null;
let pings = 0;
let ends = 0;
/** The frames that had arrived when the event loop ended. */
let framesAtEnd = -1;
/** The address of the handle of all timers. */
let timerHandle: string | undefined;
/** Whether the link was let go. */
let isLetGo = false;

/** Call it once, before any submitted code runs, so that no listener of a task comes before. */
export function watchForStall(): void {
  on("beforeExit", onLoopEnd);
}

/** Called for each ping of the service. */
export function lookForStall(): void {
  takeBack();
  const run = onlyOpenRun();
  if (!run || run !== suspect) {
    suspect = run;
    pings = 0;
    ends = 0;
    return;
  }
  pings += 1;
  if (pings < FIRST_PINGS || !run.mayStall) return;
  // The handle of all timers stays active after the last timer was cleared, until it fires or another timer is set.
  later(letGo, 1, run);
  // Now it is the only timer that keeps Node alive: V8 has timers for its own tasks, which do not.
  timerHandle ??= find(
    handles(),
    ({ type, is_referenced: isReferenced }) => type === "timer" && isReferenced === true,
  )?.address;
}

function letGo(run: Run): void {
  immediate(() => {
    if (run !== suspect || run.over || isLetGo) return;
    // A task may have removed the listener. Without it, the process would end.
    if (!includes(listeners("beforeExit"), onLoopEnd)) on("beforeExit", onLoopEnd);
    isLetGo = true;
    releaseLoop();
  });
}

function takeBack(): void {
  if (!isLetGo) return;
  isLetGo = false;
  holdLoop();
}

function onLoopEnd(): void {
  if (!isLetGo) return;
  takeBack();
  if (framesReceived() !== framesAtEnd) ends = 0;
  framesAtEnd = framesReceived();
  ends += 1;
  // The service may have sent a frame that was not read yet.
  if (ends >= ENDS) immediate(() => immediate(report));
}

function report(): void {
  const run = suspect;
  if (!run || run !== onlyOpenRun() || !run.mayStall || hasWorkers() || !isQuiet()) return;
  // A frame may have ended a connection, and code may have queued what opens the next one.
  if (framesReceived() !== framesAtEnd) return;
  ends = 0;
  pings = FIRST_PINGS - FURTHER_PINGS;
  send(numberFrame(FROM_GUEST.stalled, run.id, framesReceived()));
}

interface Handle {
  readonly type: string;
  readonly address?: string;
  readonly is_active?: boolean;
  readonly is_referenced?: boolean;
}

/** Whether no handle is active that Node does not wait for, such as a timer after `unref()`. */
function isQuiet(): boolean {
  const other = ({ type, address, is_active: isActive }: Handle): boolean => {
    return isActive === true && (type === "timer" ? address === timerHandle : !includes(OWN_HANDLES, type));
  };
  const all = handles();
  return timerHandle !== undefined && all.length > 0 && find(all, other) === undefined;
}

/** Returns the handles of libuv, in about 2 ms; none if a task has replaced the report. */
function handles(): Handle[] {
  try {
    const reporter = process.report as typeof process.report & { excludeNetwork: boolean };
    const before = reporter.excludeNetwork;
    // Otherwise the report resolves the names of hosts.
    reporter.excludeNetwork = true;
    const { libuv } = reporter.getReport() as unknown as { libuv: Handle[] };
    reporter.excludeNetwork = before;
    return libuv;
  } catch {
    return [];
  }
}

function find(all: readonly Handle[], matches: (handle: Handle) => boolean): Handle | undefined {
  for (let index = 0; index < all.length; index += 1) if (matches(all[index]!)) return all[index];
  return undefined;
}
