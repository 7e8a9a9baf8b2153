import type { HeapInfo } from "node:v8";

import { uncurry } from "../wire/uncurry.ts";
import { currentRun } from "./current-run.ts";
import { threwFault } from "./faults.ts";
import { reportLateError } from "./logs.ts";
import { ownFolder } from "./own-require.ts";
import { closeLink, flushLink, isFlushed } from "./service-link.ts";

/** Ends the process like `process.exit`, but does not call the task's listeners. It is undocumented and has no type. */
const realExit = (process as unknown as { reallyExit: (code: number) => never }).reallyExit.bind(process);
const realKill = process.kill.bind(process);
const { pid } = process;
const getBuiltinModule = process.getBuiltinModule.bind(process);
const RADIX = 36;
/** The variables for the dynamic loader and for the allocator of glibc, which have read them. */
const OWN_VARIABLES = ["LD_PRELOAD", "MALLOC_ARENA_MAX", "MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_"];
const toText = uncurry(Number.prototype, "toString");

/** The time for the service to read flushed frames, which takes it a fraction of this. */
const READ_MS = 10;
const { wait } = Atomics;
const neverNotified = new Int32Array(new SharedArrayBuffer(4));

let exiting = false;

/**
 * Puts the id of the entered run into the process title. The service reads it from `/proc/<pid>/stat`, even while the run
 * blocks. A task can redefine `process.title`, which only hides its own run, so the setter is not protected.
 */
export function showEntered(runId: number): void {
  process.title = `r${toText(runId, RADIX)}`;
}

/** Sets the process title for a guest that is executing no run. */
export function showIdle(): void {
  process.title = "idle";
}

/** Ends the guest. */
export function exitGuest(code: number): void {
  realExit(code);
}

/** Replaces the functions of `process` that would end the guest, and the functions that fail without `/proc`. */
export function guardProcess(): void {
  for (const name of OWN_VARIABLES) delete process.env[name];
  // The user of a guest has no entry in a list of users, so `os.homedir()` would throw, and packages call it while they are imported.
  process.env["HOME"] = ownFolder;
  Object.assign(process, { exit, reallyExit: exit, abort, kill, memoryUsage: Object.assign(memoryUsage, { rss }) });
  // A capture callback, because a task could remove a listener.
  process.setUncaughtExceptionCaptureCallback(onUncaught);
  // A rejection that nothing awaits breaks nothing, so it never ends the guest. One without a run is ignored.
  process.on("unhandledRejection", (error: unknown) => currentRun() && onUncaught(error));
}

function exit(code?: number | string | null): never {
  return exitTask(`process.exit(${code ?? process.exitCode ?? 0})`);
}

function abort(): never {
  return exitTask("process.abort()");
}

function kill(target: number, signal: string | number = "SIGTERM"): true {
  // Zero and negative numbers are process groups that include this process.
  if (target > 0 && target !== pid) return realKill(target, signal);
  return signal === 0 || exitTask(`process.kill(process.pid, ${signal})`);
}

const EXIT_HINT = "Return a result, or throw an error, instead of ending the process.";

/** Fails the current run, and ends the process once the service has read the fault. The throw unwinds the task's code. */
function exitTask(call: string): never {
  exiting = true;
  currentRun()?.fault({
    code: "task_exited",
    detail: `the task ended its process with ${call}`,
    hint: EXIT_HINT,
    retire: true,
  });
  closeLink(() => realExit(0));
  throw new Error(`${call} ends the container`);
}

function onUncaught(error: unknown): void {
  if (exiting) return;
  const run = currentRun();
  if (!run) return exitFaulty();
  if (!run.over) return run.fault(threwFault(error));
  reportLateError(run, "after its answer", error);
}

/**
 * Ends the guest after an uncaught error without a run. Queued frames are flushed, and the service answers the open runs. It
 * exits synchronously if the kernel accepts all frames, because a task that replaced built-ins may have broken timers and
 * events.
 */
function exitFaulty(): void {
  exiting = true;
  try {
    flushLink();
    if (!isFlushed()) return closeLink(() => realExit(1));
    wait(neverNotified, 0, 0, READ_MS);
    realExit(1);
  } catch {
    realExit(1);
  }
}

/** Replaces Node's function, which reads `/proc`. The sandbox has no `/proc`. */
function memoryUsage(): NodeJS.MemoryUsage {
  const heap = heapStatistics();
  return {
    rss: rss(),
    heapTotal: heap.total_heap_size,
    heapUsed: heap.used_heap_size,
    external: heap.external_memory,
    arrayBuffers: 0,
  };
}

function rss(): number {
  const heap = heapStatistics();
  return heap.total_physical_size + heap.malloced_memory + heap.external_memory;
}

/** Loads `node:v8` only when a task needs it, because loading it costs a millisecond at each guest start. */
function heapStatistics(): HeapInfo {
  return getBuiltinModule("node:v8").getHeapStatistics();
}
