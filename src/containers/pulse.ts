import { randomInt } from "node:crypto";

/** An honest guest that is not busy answers within a millisecond. */
const SILENT_MS = 250;

/** Whether a guest's event loop turns: pings, one at a time, and their answers. Times are those of `performance.now()`. */
export class Pulse {
  /** When the last ping went out and is unanswered, else null. */
  pingedMs: number | null = null;
  lastPingMs = 0;
  /** What the answer must say, so that none is sent blindly ahead. */
  #nonce = 0;
  #heard: PromiseWithResolvers<void> | null = null;

  /** @returns the number that the ping carries. */
  ping(nowMs: number): number {
    this.pingedMs = nowMs;
    this.lastPingMs = nowMs;
    this.#nonce = randomInt(2 ** 32);
    return this.#nonce;
  }

  /** @returns whether it is the answer that is owed. */
  take(nonce: number): boolean {
    if (this.pingedMs === null || nonce !== this.#nonce) return false;
    this.end();
    return true;
  }

  /** Whether an answer is owed for so long that a run had better wait: the guest may be about to be ended. */
  isSilent(nowMs: number): boolean {
    return this.pingedMs !== null && nowMs - this.pingedMs >= SILENT_MS;
  }

  /** Resolves when no answer is owed any more: it has come, or the guest has ended. */
  heard(): Promise<void> {
    if (this.pingedMs === null) return Promise.resolve();
    this.#heard ??= Promise.withResolvers();
    return this.#heard.promise;
  }

  /** No answer is owed any more. */
  end(): void {
    this.pingedMs = null;
    this.#heard?.resolve();
    this.#heard = null;
  }
}
