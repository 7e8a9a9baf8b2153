/** The maximum number of unsolicited frames at once. Aborted streams leave some hundreds. */
const MOST = 5_000;
/** The number of frames that are forgotten in a tick of the watchdog (25 ms). 8,000 a second cost a hundredth of the thread. */
const FORGOTTEN_A_TICK = 200;

/** Counts the unsolicited frames of a guest. Some are honest because they crossed with an abort; masses are an attack. */
export class Noise {
  #frames = 0;

  get frames(): number {
    return this.#frames;
  }

  /** Counts a frame. @returns whether there are more than honest code sends. */
  add(): boolean {
    return ++this.#frames > MOST;
  }

  tick(): void {
    this.#frames = Math.max(0, this.#frames - FORGOTTEN_A_TICK);
  }
}
