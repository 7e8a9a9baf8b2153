import { now } from "./clock.ts";
import { whenSettled } from "./promises.ts";
import type { Run } from "./run.ts";

const NativePromise = Promise;
const later = setTimeout;

/** The longest wait of a preflight. A text that has given no fetch handler by then has none in practice. */
const PREFLIGHT_MS = 1_000;

/** Lets the runs of a code wait while one of them does what the others need. */
export class RunGate {
  #closed: Promise<void> | null = null;
  #closedMs = 0;
  #mostMs = Infinity;

  /**
   * Lets other runs wait until the returned function is called, or until the run is aborted: what never ends must not block the others for ever.
   *
   * @param mostMs the longest wait. A preflight waits for a second then, and has no answer of the code after it, because it must not execute
   *   code without a fetch handler
   */
  close(run: Run, mostMs: number = Infinity): () => void {
    const { promise, resolve } = NativePromise.withResolvers<void>();
    this.#closed = promise;
    this.#closedMs = now();
    this.#mostMs = mostMs;
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
    const isTimed = this.#mostMs !== Infinity;
    const leftMs = this.#closedMs + (run.isPreflight ? PREFLIGHT_MS : this.#mostMs) - now();
    if (isTimed && !run.isPreflight && leftMs <= 0) return false;
    let waits = true;
    const endWait = (step: () => void): void => {
      if (waits && !run.over) step();
      waits = false;
    };
    whenSettled(
      this.#closed,
      () => endWait(goOn),
      () => {},
    );
    if (isTimed) later(() => endWait(run.isPreflight ? () => run.result("null") : goOn), leftMs);
    return true;
  }
}
