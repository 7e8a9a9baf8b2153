import { Problem } from "../../errors.ts";
import { RedisBusy } from "../../redis/redis-replies.ts";
import type { Charge, Decision, KeyReading, LimitStore } from "../store.ts";

/** An admission without usage: what is left is unknown. */
const UNCOUNTED: Decision = Object.freeze({ admitted: true, usage: [], retryAfterMs: 0, violations: [] });

/**
 * A store whose failure does not stop runs: while it is unreachable, runs are admitted and not counted. A Redis that is only busy
 * is not unreachable: a caller can make it busy, and must not pass its limits.
 */
export class FailOpenLimitStore implements LimitStore {
  readonly #store: LimitStore;

  constructor(store: LimitStore) {
    this.#store = store;
  }

  async admit(charges: readonly Charge[]): Promise<Decision> {
    try {
      return await this.#store.admit(charges);
    } catch (error) {
      const isUnavailable = error instanceof Problem && error.code === "store_unavailable";
      if (isUnavailable && !(error.cause instanceof RedisBusy)) return UNCOUNTED;
      throw error;
    }
  }

  read(charges: readonly Charge[], holder?: string): Promise<KeyReading[]> {
    return this.#store.read(charges, holder);
  }

  reset(key: string): Promise<void> {
    return this.#store.reset(key);
  }

  keys(prefixes: readonly string[], after: string, count: number, holder?: string): Promise<string[]> {
    return this.#store.keys(prefixes, after, count, holder);
  }

  close(): Promise<void> {
    return this.#store.close();
  }
}
