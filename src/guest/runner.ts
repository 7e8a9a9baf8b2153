import { type AbortReason, decodeCode } from "../wire/messages.ts";
import { uncurry } from "../wire/uncurry.ts";
import { Code } from "./code.ts";
import { threwFault } from "./faults.ts";
import { showEntered } from "./process.ts";
import { Incoming } from "./request-body.ts";
import { currentRun, enterRun, Run } from "./run.ts";
import { safeMap } from "./safe-map.ts";

const prototype: Buffer = Buffer.prototype;
const readUInt32LE = uncurry(prototype, "readUInt32LE");
const toText = uncurry(prototype, "toString");

const codes = safeMap<number, Code>();
/**
 * Those that were not answered at once, by the low half of their id, which no two have at a time. Not a Map: V8 keeps what
 * the many copies of one held that is filled and emptied all the time.
 */
const runs: (Run | null)[] = [];
const SLOTS = 2 ** 16;

/** @param payload Of a `code` frame. */
export function addCode(id: number, payload: Buffer): void {
  codes.set(id, new Code(id, decodeCode(payload)));
}

export function forgetCode(id: number): void {
  codes.get(id)?.forget();
  codes.delete(id);
}

/** @param payload Of a `run` frame. */
export function startRun(
  id: number,
  payload: Buffer,
  onOver: (id: number) => unknown = forgetRun,
  incoming: Incoming | null = null,
): void {
  const code = codes.get(readUInt32LE(payload, 0));
  if (!code) throw new TypeError(`run ${id} names a code that was not sent`);
  const run = new Run(id, payload, code, onOver, incoming);
  // Before any of its code runs: whoever looks from outside while it blocks must find it.
  showEntered(id);
  enterRun(run, start);
  if (!run.gone) runs[id % SLOTS] = run;
}

/** @param payload Of a `runWithBody` frame. */
export function startRunWithBody(id: number, payload: Buffer): void {
  startRun(id, payload, forgetRun, new Incoming(id, readUInt32LE(payload, 4)));
}

/** @param payload Of a `body` frame. */
export function takeBody(id: number, payload: Buffer): void {
  const run = runOf(id);
  // In the run's own context: whoever reads may go on with it at once.
  if (run) enterRun(run, () => run.incoming?.push(payload));
}

export function endBody(id: number): void {
  const run = runOf(id);
  if (run) enterRun(run, () => run.incoming?.end());
}

/** @param payload Of an `abort` frame. The run may be over: the frames crossed. */
export function abortRun(id: number, payload: Buffer): void {
  const run = runOf(id);
  const reason = toText(payload) as AbortReason;
  // In the run's own context: its listeners may log, throw and exit.
  if (run) enterRun(run, () => run.abort(reason));
}

/** @param payload Of a `window` frame. */
export function widenWindow(id: number, payload: Buffer): void {
  runOf(id)?.onWindow?.(readUInt32LE(payload, 0));
}

/**
 * The run that is charged for a connection that is made now: the given one, or the one whose code executes. When that is
 * over, another in flight: a pool of connections, such as that of `fetch`, connects anew in the context of the run that
 * used it first. All runs of a guest are one party, so that none pays for a stranger.
 */
export function payer(of?: number): number {
  const run = of === undefined ? currentRun() : runOf(of);
  if (run && !run.gone) return run.id;
  let newest = 0;
  for (let slot = 0; slot < runs.length; slot += 1) {
    const other = runs[slot];
    if (other && !other.gone) newest = Math.max(newest, other.id);
  }
  return newest === 0 ? (run?.id ?? of ?? 0) : newest;
}

/** Has the run whose code executes fail with what nobody has heard of by the time of its result. */
export function noteUnheard(unheard: () => Error | null): void {
  const run = currentRun();
  if (run && !run.over) run.unheard = unheard;
}

function runOf(id: number): Run | null {
  const run = runs[id % SLOTS];
  return run?.id === id ? run : null;
}

function forgetRun(id: number): void {
  if (runOf(id)) runs[id % SLOTS] = null;
}

function start(run: Run): void {
  try {
    run.code.enter(run);
  } catch (error) {
    run.fault(threwFault(error));
  }
}
