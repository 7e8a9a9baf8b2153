/** The most frames that nobody asked for, at once. Aborted streams leave some hundreds. */
const MOST = 5_000;
/** How many of them are forgotten in a tick of the watchdog (25 ms): 8,000 a second cost the service a hundredth of its thread. */
const FORGOTTEN_A_TICK = 200;

/** Counts the frames of a guest that nobody asked for: honest after an abort that they crossed, an attack in masses. */
export class Noise {
  #frames = 0;

  get frames(): number {
    return this.#frames;
  }

  /** @returns whether there are more than honest code sends. */
  add(): boolean {
    return ++this.#frames > MOST;
  }

  tick(): void {
    this.#frames = Math.max(0, this.#frames - FORGOTTEN_A_TICK);
  }
}
