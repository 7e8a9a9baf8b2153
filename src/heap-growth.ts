import { constants, type PerformanceEntry, PerformanceObserver } from "node:perf_hooks";
import { setFlagsFromString } from "node:v8";

/**
 * By default V8 collects the whole heap when it has grown to about twice its live size, including the buffers into
 * which sockets are read. About 25 MiB are live here, so a few large results a second caused one and a half collections
 * a second. Each took a tenth of a second of processor time, mostly in threads that delay guests. With growth to four
 * times the live size, the cost is a fifth of that.
 */
const HEAP_GROWTH = "--heap-growing-percent=300";

interface GcEntry extends PerformanceEntry {
  readonly detail: { readonly kind: number };
}

/**
 * Lets the heap grow to four times its live size, from its first whole collection on. V8 takes no compiled code that was kept under
 * other flags. If this flag was set at the start, each module of Node that is loaded after it would take twice the time, and
 * the first thread 30 ms more.
 *
 * @returns ends it
 */
export function letHeapGrow(): () => void {
  const observer = new PerformanceObserver((list) => {
    const kinds = list.getEntries().map((entry) => (entry as GcEntry).detail.kind);
    if (!kinds.includes(constants.NODE_PERFORMANCE_GC_MAJOR)) return;
    observer.disconnect();
    setFlagsFromString(HEAP_GROWTH);
  });
  observer.observe({ entryTypes: ["gc"] });
  return () => observer.disconnect();
}
