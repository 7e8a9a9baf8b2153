import { readdirSync, readFileSync, writeFileSync } from "node:fs";

import { LAST_NICENESS, lowerThreads } from "./lower-threads.ts";
import type { GuestStatus, Priority } from "./sandbox.ts";

/** The niceness of guests if no control group limits their CPU. The service has 0, which weighs nine times as much. */
export const GUEST_NICENESS = 10;

/**
 * The processor time of the main thread at a low priority after which all threads get the highest niceness, which they keep. An
 * honest guest uses less before its priority is normal again. Not a time of the clock: on a full machine an honest step takes seconds.
 */
const SUSTAINED_CPU_MS = 250;
/** The time between two searches for new threads, if their number does not grow. A search takes some 10 µs. */
const SEARCH_MS = 250;
/** The maximum number of threads that are lowered at a time: they must fit into one plan of the stub. */
const BATCH = 64;
/** The time between two changes of autogroups that the kernel allows to users without CAP_SYS_ADMIN, on the whole system. */
const AUTOGROUP_MS = 100;

/**
 * The share of CPU of a guest that no control group divides. It is the niceness of its threads, and the niceness of its autogroup. The
 * kernel uses one of them (sched(7)): with autogroups, each session of the host has a share, and each guest is a session. In a
 * control group, such as that of a container, or without autogroups, each thread has a share.
 *
 * A user may raise the niceness of threads, and lower it only with CAP_SYS_NICE. So a guest keeps a raised niceness, and the monitor
 * replaces the guest when it rests. Errors are ignored, because a guest may end at any time.
 */
export class GuestNiceness {
  readonly #stub: string | null;
  #pid: number | null = null;
  /** The threads that the guest had before it could run code of tasks; null before it is sealed. */
  #ownThreads: ReadonlySet<string> | null = null;
  #hasMoreThreads = false;
  #isSlow = false;
  /** What the main thread had used at the first observation since the guest has a low priority; null before. */
  #slowFromMs: number | null = null;
  /** Whether it has computed for long at a low priority. */
  #isHog = false;
  /** The threads that have the highest niceness. */
  #lowered: ReadonlySet<string> = new Set();
  #isLowering = false;
  /** The number of threads at the last search, and its time on the clock of `performance.now()`. */
  #found = 0;
  #foundMs = 0;

  /** @param stub the file of the stub, or null if the guest has the user of this process. */
  constructor(stub: string | null) {
    this.#stub = stub;
  }

  /** Gives the process of a starting guest its share. */
  begin(pid: number): void {
    this.#pid = pid;
    changeAutogroup(this);
  }

  /** Must be called before the guest receives code of a task. */
  seal(): void {
    this.#ownThreads = new Set(this.#threads());
    // Bubblewrap starts another session after it has reported the pid.
    changeAutogroup(this);
  }

  setPriority(priority: Priority): void {
    const isSlow = priority === "busy" || priority === "low";
    if (this.#isSlow === isSlow) return;
    this.#isSlow = isSlow;
    this.#slowFromMs = null;
    changeAutogroup(this);
  }

  /** Lowers the threads that tasks have started, and all threads of a guest that keeps computing. */
  observe({ threads, cpuMs }: GuestStatus): void {
    const own = this.#ownThreads;
    if (!own) return;
    if (this.#isSlow) this.#slowFromMs ??= cpuMs;
    if (this.#slowFromMs !== null && cpuMs - this.#slowFromMs >= SUSTAINED_CPU_MS) this.#isHog = true;
    const hasMore = threads > own.size;
    if (this.#hasMoreThreads !== hasMore) {
      this.#hasMoreThreads = hasMore;
      changeAutogroup(this);
    }
    const nowMs = performance.now();
    const isDue = threads > this.#found || nowMs - this.#foundMs >= SEARCH_MS;
    if (this.#isLowering || !isDue || (!hasMore && !this.#isHog)) return;
    this.#found = threads;
    this.#foundMs = nowMs;
    void this.#lower(own);
  }

  /** Must be called when the process has ended, because another process may get its pid. */
  end(): void {
    this.#pid = null;
  }

  /** @returns whether there is nothing left to do. Otherwise the system allows no change now. */
  writeAutogroup(): boolean {
    if (this.#pid === null) return true;
    const niceness = this.#isSlow || this.#hasMoreThreads ? LAST_NICENESS : GUEST_NICENESS;
    const file = `/proc/${this.#pid}/autogroup`;
    try {
      // Read first: each change takes one of ten a second.
      if (!readFileSync(file, "latin1").endsWith(` nice ${niceness}\n`)) writeFileSync(file, String(niceness));
      return true;
    } catch (error) {
      return (error as NodeJS.ErrnoException).code !== "EAGAIN";
    }
  }

  #threads(): string[] {
    try {
      return this.#pid === null ? [] : readdirSync(`/proc/${this.#pid}/task`);
    } catch {
      return [];
    }
  }

  async #lower(own: ReadonlySet<string>): Promise<void> {
    const threads = this.#threads().filter((thread) => this.#isHog || !own.has(thread));
    const batch = threads.filter((thread) => !this.#lowered.has(thread)).slice(0, BATCH);
    this.#lowered = new Set([...threads.filter((thread) => this.#lowered.has(thread)), ...batch]);
    if (batch.length === 0) return;
    this.#isLowering = true;
    await lowerThreads(this.#pid!, batch.map(Number), this.#stub);
    this.#isLowering = false;
  }
}

/** The guests whose autogroup waits for a change, in turn: a guest has one place, however often its share changes. */
const waiting = new Set<GuestNiceness>();
let retry: NodeJS.Timeout | null = null;

function changeAutogroup(guest: GuestNiceness): void {
  waiting.add(guest);
  if (retry === null) changeWaiting();
}

function changeWaiting(): void {
  retry = null;
  for (const guest of waiting) {
    if (!guest.writeAutogroup()) {
      retry = setTimeout(changeWaiting, AUTOGROUP_MS).unref();
      return;
    }
    waiting.delete(guest);
  }
}
