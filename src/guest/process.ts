import type { HeapInfo } from "node:v8";

import { uncurry } from "../wire/uncurry.ts";
import { threwFault } from "./faults.ts";
import { closeLink, flushLink, hasLeft } from "./link.ts";
import { tellUnheard } from "./logs.ts";
import { currentRun } from "./run.ts";

/** What `process.exit` ends in, without the task's own listeners. It has no type because it has no documentation. */
const realExit = (process as unknown as { reallyExit: (code: number) => never }).reallyExit.bind(process);
const realKill = process.kill.bind(process);
const { pid } = process;
const getBuiltinModule = process.getBuiltinModule.bind(process);
const RADIX = 36;
const toText = uncurry(Number.prototype, "toString");

/** What has left is read in a fraction of it. */
const READ_MS = 10;
const { wait } = Atomics;
const nothing = new Int32Array(new SharedArrayBuffer(4));

let exiting = false;

/**
 * Says outside which run is entered: the title stands in `/proc/<pid>/stat`, readable also while the run blocks.
 * The title has no setter to be kept: a task that redefines it only makes its own container harder to tell about.
 */
export function showEntered(runId: number): void {
  process.title = `r${toText(runId, RADIX)}`;
}

/** Says outside that no run is being entered. */
export function showIdle(): void {
  process.title = "idle";
}

/** Ends the guest. */
export function exitGuest(code: number): void {
  realExit(code);
}

/** Puts what the guest can stand in place of what would end the process, or fails without `/proc`. */
export function guardProcess(): void {
  // Only the loader needed it.
  delete process.env["LD_PRELOAD"];
  Object.assign(process, { exit, reallyExit: exit, abort, kill, memoryUsage: Object.assign(memoryUsage, { rss }) });
  // A capture callback, which a task cannot take away by removing listeners.
  process.setUncaughtExceptionCaptureCallback(onUncaught);
  process.on("unhandledRejection", onUncaught);
}

function exit(code?: number | string | null): never {
  return exitTask(`process.exit(${code ?? process.exitCode ?? 0})`);
}

function abort(): never {
  return exitTask("process.abort()");
}

function kill(target: number, signal: string | number = "SIGTERM"): true {
  // Zero and negative numbers name process groups, which hold this process.
  if (target > 0 && target !== pid) return realKill(target, signal);
  return signal === 0 || exitTask(`process.kill(process.pid, ${signal})`);
}

/** Answers the run that asked for the end, and ends as soon as the answer was read. The throw unwinds the task's own code. */
function exitTask(call: string): never {
  exiting = true;
  currentRun()?.fault({ code: "task_exited", detail: `the task ended its process with ${call}`, retire: true });
  closeLink(() => realExit(0));
  throw new Error(`${call} ends the container`);
}

function onUncaught(error: unknown): void {
  if (exiting) return;
  const run = currentRun();
  if (!run) return exitFaulty();
  if (!run.over) return run.fault(threwFault(error));
  tellUnheard(run, "after its answer", error);
}

/**
 * For a fault that nobody can be told of: what has been answered leaves, and the service answers the runs in flight. At once
 * where that can be: a task that has broken the tools of the harness may have broken all that could be waited for.
 */
function exitFaulty(): void {
  exiting = true;
  try {
    flushLink();
    if (!hasLeft()) return closeLink(() => realExit(1));
    wait(nothing, 0, 0, READ_MS);
    realExit(1);
  } catch {
    realExit(1);
  }
}

/** Node's own reads `/proc`, which the sandbox does not have. */
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

/** Few tasks ask, and the module costs each start of a guest a millisecond. */
function heapStatistics(): HeapInfo {
  return getBuiltinModule("node:v8").getHeapStatistics();
}
