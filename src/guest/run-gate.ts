import { now } from "./clock.ts";
import { whenSettled } from "./promises.ts";
import type { Run } from "./run.ts";

const NativePromise = Promise;
const later = setTimeout;

/** Lets the runs of a code wait while one of them does what the others need. */
export class RunGate {
  #closed: Promise<void> | null = null;
  #untilMs = Infinity;

  /**
   * Lets other runs wait until the returned function is called, or until the run is aborted: what never ends must not block the others for ever.
   *
   * @param mostMs the longest wait. A preflight waits for longer, because it must not execute code without a fetch handler
   */
  close(run: Run, mostMs: number = Infinity): () => void {
    const { promise, resolve } = NativePromise.withResolvers<void>();
    this.#closed = promise;
    this.#untilMs = now() + mostMs;
    const open = (): void => {
      if (this.#closed === promise) this.#closed = null;
      resolve();
    };
    run.onAbort = open;
    return open;
  }

  /** @returns whether the run waits. Then `goOn` is called once, unless the run is over by then */
  holds(run: Run, goOn: () => void): boolean {
    if (!this.#closed) return false;
    const leftMs = run.isPreflight ? Infinity : this.#untilMs - now();
    if (leftMs <= 0) return false;
    let waits = true;
    const goOnOnce = (): void => {
      if (waits && !run.over) goOn();
      waits = false;
    };
    whenSettled(this.#closed, goOnOnce, () => {});
    if (leftMs !== Infinity) later(goOnOnce, leftMs);
    return true;
  }
}
