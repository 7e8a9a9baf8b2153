/** A failure is reported this long, because only another attempt can tell whether it lasts, and a node that takes no runs gets none. */
const REPORTED_MS = 5_000;

/** The failure of the latest attempt to store something, for readers who ask whether it works now. */
export class RecentFailure {
  #failure: Error | null = null;
  #failedMs = 0;

  /** The failure, or null after a success and five seconds after the latest failure. */
  get failure(): Error | null {
    return this.#failure && performance.now() - this.#failedMs < REPORTED_MS ? this.#failure : null;
  }

  failed(error: unknown): void {
    this.#failure = error instanceof Error ? error : new Error(String(error));
    this.#failedMs = performance.now();
  }

  succeeded(): void {
    this.#failure = null;
  }
}
