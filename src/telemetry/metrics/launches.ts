import { Histogram } from "./histogram.ts";

/** The starts of guests. */
export class Launches {
  readonly duration: Histogram = new Histogram();
  failed = 0;

  /** @param launch starts a guest; the result is ready when the guest is */
  async measure<T>(launch: () => Promise<T>): Promise<T> {
    const begunMs = performance.now();
    try {
      const guest = await launch();
      this.duration.observe(performance.now() - begunMs);
      return guest;
    } catch (error) {
      this.failed++;
      throw error;
    }
  }
}
