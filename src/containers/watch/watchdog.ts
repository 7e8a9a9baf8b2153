import type { Guest } from "../guest/guest.ts";
import { priorityOf } from "./cpu-priority.ts";
import { expireRuns, type RunDeadlines } from "./deadlines.ts";
import { idlePingMs, isPingDue } from "./heartbeat.ts";
import type { MonitorLimits } from "./judges.ts";
import { ResourceMonitor, TICK_MS } from "./resource-monitor.ts";

export interface WatchdogOptions extends MonitorLimits, RunDeadlines {}

/** If this time passes between two ticks, the service itself was delayed. */
const LATE_MS = 200;

/**
 * Watches all guests from outside, in ticks of 25 ms: the deadlines of their runs, whether their event loops turn, and what
 * they use.
 *
 * A task that reads the descriptor of its guest can answer pings instead of the event loop that it blocks. No figure of the
 * kernel distinguishes that loop from Node's. The task gains the time from its block limit to its deadline, in a guest
 * that only its own isolation group uses, and then gets `task_timeout` instead of `task_blocked`.
 */
export class Watchdog {
  readonly #guests: ReadonlySet<Guest>;
  readonly #options: WatchdogOptions;
  readonly #monitor: ResourceMonitor;
  readonly #timer: NodeJS.Timeout;
  #lastTickMs: number = performance.now();
  #afterRead: NodeJS.Immediate | null = null;

  constructor(guests: ReadonlySet<Guest>, options: WatchdogOptions) {
    this.#guests = guests;
    this.#options = options;
    this.#monitor = new ResourceMonitor(options);
    this.#timer = setInterval(() => this.#tick(), TICK_MS).unref();
  }

  close(): void {
    clearInterval(this.#timer);
    clearImmediate(this.#afterRead ?? undefined);
  }

  #tick(): void {
    const nowMs = performance.now();
    const isLate = nowMs - this.#lastTickMs > LATE_MS;
    this.#lastTickMs = nowMs;
    const paused = this.#guests.values().reduce((count, guest) => count + Number(guest.isPaused), 0);
    for (const guest of this.#guests) {
      if (guest.ended) continue;
      guest.tick(paused);
      expireRuns(guest, nowMs, this.#options);
    }
    // After a late tick, answers may lie unread in the sockets. The service has read them when the event loop has turned.
    if (isLate) this.#afterRead = setImmediate(() => this.#checkGuests());
    else this.#checkGuests();
  }

  #checkGuests(): void {
    const nowMs = performance.now();
    const idleMs = idlePingMs(this.#guests.size);
    for (const guest of this.#guests) {
      // A guest is not pinged before the end of its start, because the start has a separate limit.
      if (guest.ended || !guest.warm || guest.heartbeat.pingedMs !== null) continue;
      const isHog = this.#monitor.isHog(guest);
      if (isHog && guest.inFlight.endsIdle) guest.retire();
      if (guest.ended) continue;
      guest.setPriority(priorityOf(guest, isHog, nowMs));
      if (isPingDue(guest, nowMs, idleMs)) guest.ping(nowMs);
    }
    this.#monitor.tick(this.#guests, nowMs);
  }
}
