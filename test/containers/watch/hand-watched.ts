import { setImmediate } from "node:timers/promises";

import type { Guest } from "../../../src/containers/guest/guest.ts";
import { Heartbeat } from "../../../src/containers/watch/heartbeat.ts";
import type { MonitorLimits } from "../../../src/containers/watch/judges.ts";
import { type MonitorSettings, ResourceMonitor, TICK_MS } from "../../../src/containers/watch/resource-monitor.ts";
import type { UsageSample } from "../../../src/containers/watch/usage-sample.ts";
import type { Problem } from "../../../src/errors.ts";
import type { GuestStatus, Priority } from "../../../src/sandbox/sandbox.ts";
import { IDLE } from "../puppet.ts";

export const MIB: number = 2 ** 20;
export const HELD: MonitorLimits = {
  memoryBytes: 100 * MIB,
  threads: 10,
  cpuCores: 1,
  blockMs: 2_000,
  held: { memory: true, cpu: true },
};
export const UNHELD: MonitorLimits = { ...HELD, held: { memory: false, cpu: false } };

/** A sample of an idle guest, with these differences. */
export function sampleAt(atMs: number, figures: Partial<UsageSample> = {}): UsageSample {
  return { ...IDLE, askedMs: atMs, atMs, runs: 1, ...figures };
}

/** The state of a guest as the monitor reads it. A test writes what the kernel and the service would report. */
export class HandGuest {
  inFlight: { size: number; only: number | null; get(id: number): object | null } = {
    size: 1,
    only: 1,
    get: () => null,
  };
  runs = 1;
  begunMs = 0;
  warm = true;
  ended = false;
  retired = false;
  priority: Priority = "high";
  crashCause: Problem | null = null;
  culpritCause: Problem | null = null;
  readonly heartbeat: Heartbeat = new Heartbeat();
  status: GuestStatus | null = IDLE;
  samples = 0;
  readonly process: { inspect(): Promise<GuestStatus | null> } = {
    inspect: () => {
      this.samples++;
      return Promise.resolve(this.status);
    },
  };

  setPriority(priority: Priority): void {
    this.priority = priority;
  }

  retire(): void {
    this.retired = true;
  }

  retireWhenPossible(): void {
    this.retired = true;
  }

  crash(cause: Problem, culprit?: { cause: Problem }): void {
    this.ended = true;
    this.crashCause = cause;
    this.culpritCause = culprit?.cause ?? null;
    this.heartbeat.end();
  }

  get guest(): Guest {
    return this as unknown as Guest;
  }
}

/** A monitor whose clock stands still between ticks. */
export class HandMonitor {
  nowMs = 10_000;
  readonly monitor: ResourceMonitor;
  readonly guests: Set<Guest> = new Set();

  constructor(limits: MonitorLimits, settings: MonitorSettings = {}) {
    this.monitor = new ResourceMonitor(limits, { clock: () => this.nowMs, ...settings });
  }

  add(figures: Partial<HandGuest> = {}): HandGuest {
    const made = Object.assign(new HandGuest(), figures);
    this.guests.add(made.guest);
    return made;
  }

  /** Moves the clock to the next tick, and waits until its samples have been judged. */
  async tick(afterMs: number = TICK_MS): Promise<void> {
    this.nowMs += afterMs;
    this.monitor.tick(this.guests, this.nowMs);
    await setImmediate();
  }
}
