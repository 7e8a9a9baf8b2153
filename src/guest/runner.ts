import { decodeCode } from "../wire/code-message.ts";
import type { AbortReason } from "../wire/messages.ts";
import type { TransformedMessage } from "../wire/transform.ts";
import { uncurry } from "../wire/uncurry.ts";
import { Code } from "./code.ts";
import { currentRun, enterRun } from "./current-run.ts";
import { threwFault } from "./faults.ts";
import { clearEntries } from "./package-modules.ts";
import { dropPackages, type Packages } from "./packages.ts";
import { showEntered } from "./process.ts";
import { RequestBody } from "./request-body.ts";
import { Run } from "./run.ts";
import { safeMap } from "./safe-map.ts";

const prototype: Buffer = Buffer.prototype;
const readUInt32LE = uncurry(prototype, "readUInt32LE");
const toText = uncurry(prototype, "toString");

const { parse } = JSON;
const codes = safeMap<number, Code>();
/**
 * The runs that did not end synchronously, by the low half of their id, which is unique among open runs. Not a Map: V8
 * rehashes a Map that is filled and emptied all the time, and keeps the contents of the old copies alive.
 */
const runs: (Run | null)[] = [];
const SLOTS = 2 ** 16;
/** The forgotten packages that an open run may still use. */
let forgotten: Packages[] = [];

/** @param payload The payload of a `code` frame. */
export function addCode(id: number, payload: Buffer): void {
  codes.set(id, new Code(id, decodeCode(payload)));
}

export function forgetCode(id: number): void {
  codes.get(id)?.forget();
  codes.delete(id);
}

/** Forgets packages. Their values are freed when no open run can use them any more. */
export function forgetPackages(id: number): void {
  const packages = dropPackages(id);
  if (!packages) return;
  forgotten[forgotten.length] = packages;
  freePackages();
}

/** @param payload The payload of a `run` frame. */
export function startRun(
  id: number,
  payload: Buffer,
  onReleased: (id: number) => unknown = forgetRun,
  requestBody: RequestBody | null = null,
  isPreflight: boolean = false,
): void {
  const code = codes.get(readUInt32LE(payload, 0));
  if (!code) throw new TypeError(`run ${id} names a code that was not sent`);
  const run = new Run(id, payload, code, onReleased, requestBody);
  run.isPreflight = isPreflight;
  // Before any of the code executes, so that the service can see the run while it blocks. A run of the warm-up is no run for the service.
  if (onReleased === forgetRun) showEntered(id);
  enterRun(run, start);
  // The next frames, such as its body, are read into the same memory, and the run may need its request later.
  run.keepRequest();
  if (!run.released) runs[id % SLOTS] = run;
}

/** @param payload The payload of a `preflight` frame. */
export function startPreflight(id: number, payload: Buffer): void {
  startRun(id, payload, forgetRun, null, true);
}

/** @param payload The payload of a `runWithBody` frame. */
export function startRunWithBody(id: number, payload: Buffer): void {
  startRun(id, payload, forgetRun, new RequestBody(id, readUInt32LE(payload, 4), readUInt32LE(payload, 8)));
}

/** @param payload The payload of a `body` frame. */
export function takeBody(id: number, payload: Buffer): void {
  const run = runOf(id);
  // In the run's context, because the task's code that reads the body may continue in this call.
  if (run) enterRun(run, () => run.requestBody?.push(payload));
}

export function endBody(id: number): void {
  const run = runOf(id);
  if (run) enterRun(run, () => run.requestBody?.end());
}

/** @param payload The payload of a `transformed` frame. */
export function takeTransformed(id: number, payload: Buffer): void {
  const run = runOf(id);
  const answer = parse(toText(payload)) as TransformedMessage;
  // In the run's context, because its code is evaluated in this call.
  if (run) enterRun(run, () => run.onTransformed?.(answer));
}

/** @param payload The payload of an `abort` frame. The run may be over already, because frames can cross. */
export function abortRun(id: number, payload: Buffer): void {
  const run = runOf(id);
  const reason = toText(payload) as AbortReason;
  // In the run's context, because its listeners may log, throw and exit.
  if (run) enterRun(run, () => run.abort(reason));
}

/** @param payload The payload of a `window` frame. */
export function widenWindow(id: number, payload: Buffer): void {
  runOf(id)?.onWindow?.(readUInt32LE(payload, 0));
}

/** The id that the service charges for code without a run. */
const NO_RUN = 0;

/**
 * Returns the id of the run that is charged for a connection: the run of the executing code, also after its end. Code may go on after its
 * answer, and a connection pool, for example that of `fetch`, reconnects in the context of the run that used it first.
 */
export function payer(): number {
  return currentRun()?.id ?? NO_RUN;
}

/** Returns the run that is open, if there is only one. */
export function onlyOpenRun(): Run | null {
  let only: Run | null = null;
  for (let slot = 0; slot < runs.length; slot += 1) {
    const run = runs[slot];
    if (!run || run.released) continue;
    if (only) return null;
    only = run;
  }
  return only;
}

/** Makes the current run fail if `pendingError` returns an error when the run has its result. */
export function setPendingError(pendingError: () => Error | null): void {
  const run = currentRun();
  if (run && !run.over) run.pendingError = pendingError;
}

function runOf(id: number): Run | null {
  const run = runs[id % SLOTS];
  return run?.id === id ? run : null;
}

function forgetRun(id: number): void {
  if (runOf(id)) runs[id % SLOTS] = null;
  if (forgotten.length > 0) freePackages();
}

function freePackages(): void {
  const used: Packages[] = [];
  for (let index = 0; index < forgotten.length; index += 1) {
    const packages = forgotten[index]!;
    if (isUsed(packages)) used[used.length] = packages;
    else {
      clearEntries(packages);
      packages.forget();
    }
  }
  forgotten = used;
}

function isUsed(packages: Packages): boolean {
  for (let slot = 0; slot < runs.length; slot += 1) {
    const run = runs[slot];
    if (run && !run.released && run.code.packages === packages) return true;
  }
  return false;
}

function start(run: Run): void {
  try {
    run.code.enter(run);
  } catch (error) {
    run.fault(threwFault(error));
  }
}
