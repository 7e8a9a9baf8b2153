import { Histogram } from "./histogram.ts";

/** The time between two measurements. A timer every 50 ms takes less than a thousandth of a processor. */
const INTERVAL_MS = 50;

/**
 * Measures how late the event loop runs a timer that is due. Everything that the service does waits as long as this timer
 * does. The histogram only grows, so that several collectors can read it.
 */
export class EventLoopLag {
  readonly histogram: Histogram = new Histogram();
  readonly #timer: NodeJS.Timeout;
  #lastMs = performance.now();

  constructor() {
    this.#timer = setInterval(() => this.#measure(), INTERVAL_MS).unref();
  }

  close(): void {
    clearInterval(this.#timer);
  }

  #measure(): void {
    const nowMs = performance.now();
    this.histogram.observe(nowMs - this.#lastMs - INTERVAL_MS);
    this.#lastMs = nowMs;
  }
}
