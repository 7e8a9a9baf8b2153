import { after, before, type TestContext } from "node:test";

import type { Guest } from "../../../src/containers/guest/guest.ts";
import { Watchdog, type WatchdogOptions } from "../../../src/containers/watch/watchdog.ts";
import { openRealGuests, type RealGuests, RESOURCES } from "../real-guests.ts";

export const BLOCK_MS = 300;
export const CONTEXT: string = JSON.stringify({
  runId: "1",
  container: "demo",
  method: "POST",
  url: "http://localhost/",
  headers: {},
});
const OPTIONS: WatchdogOptions = {
  wallMs: 60_000,
  streamMs: 60_000,
  blockMs: BLOCK_MS,
  memoryBytes: RESOURCES.memoryBytes,
  threads: RESOURCES.threads,
  cpuCores: 1,
  held: { memory: true, cpu: true },
};

/** Starts a watchdog for this guest alone, until the end of the test. */
export function watch(t: TestContext, guest: Guest, options: Partial<WatchdogOptions> = {}): Guest {
  const watchdog = new Watchdog(new Set([guest]), { ...OPTIONS, ...options });
  t.after(() => watchdog.close());
  return guest;
}

/** Guests in the real sandbox, each with a separate watchdog. Opened before the tests of a file, and closed after them. */
export class WatchedGuests {
  #real: RealGuests | null = null;

  constructor() {
    before(async () => {
      this.#real = await openRealGuests();
    });
    after(() => this.real.close());
  }

  get real(): RealGuests {
    return this.#real!;
  }

  async make(t: TestContext, options: Partial<WatchdogOptions> = {}): Promise<Guest> {
    const { wallMs, streamMs } = { ...OPTIONS, ...options };
    return watch(t, await this.real.make({ wallMs, streamMs }), options);
  }
}
