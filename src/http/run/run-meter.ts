import type { Guest } from "../../containers/guest/guest.ts";

/** What a guest has used during a run. */
export interface MeteredUse {
  /** Null if it could not be read at the beginning or at the end. */
  readonly cpuMs: number | null;
  /** The peak of the guest since it began; null if it has ended, or could not be read. */
  readonly memoryPeakBytes: number | null;
}

/** Measures the guest of one run. Other runs may share the guest. A measurement takes longer than a short run. */
export class RunMeter {
  readonly #guest: Pick<Guest, "process">;
  readonly #before: ReturnType<Guest["process"]["measure"]>;

  constructor(guest: Pick<Guest, "process">) {
    this.#guest = guest;
    this.#before = guest.process.measure();
  }

  async read(): Promise<MeteredUse> {
    const [before, after] = await Promise.all([this.#before, this.#guest.process.measure()]);
    return {
      cpuMs: before && after ? after.cpuMs - before.cpuMs : null,
      // A process that has just ended has no memory. What it had at the beginning is not its peak.
      memoryPeakBytes: after?.memoryPeakBytes || null,
    };
  }
}
