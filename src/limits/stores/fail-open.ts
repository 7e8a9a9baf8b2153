import { Problem } from "../../errors.ts";
import type { RedisLink } from "../../redis/redis-link.ts";
import { RedisBusy } from "../../redis/redis-replies.ts";
import type { Charge, Decision, KeyReading, LimitStore } from "../store.ts";

/** An admission without usage: what is left is unknown. */
const UNCOUNTED: Decision = Object.freeze({ admitted: true, usage: [], retryAfterMs: 0, violations: [] });

/**
 * A store whose loss does not stop runs: while Redis cannot be reached, runs are admitted and not counted. A Redis that is busy,
 * or that refuses to count, can be reached: a caller can make it busy and can fill its memory, and must not pass its limits.
 */
export class FailOpenLimitStore implements LimitStore {
  readonly #store: LimitStore;
  readonly #link: Pick<RedisLink, "isAway">;

  constructor(store: LimitStore, link: Pick<RedisLink, "isAway">) {
    this.#store = store;
    this.#link = link;
  }

  get failure(): Error | null {
    const { failure } = this.#store;
    return failure && this.#link.isAway(failure) ? null : failure;
  }

  async admit(charges: readonly Charge[]): Promise<Decision> {
    try {
      return await this.#store.admit(charges);
    } catch (error) {
      if (!(error instanceof Problem) || error.code !== "store_unavailable") throw error;
      const { cause } = error;
      if (cause instanceof RedisBusy || !this.#link.isAway(cause)) throw error;
      return UNCOUNTED;
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
