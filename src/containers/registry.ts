import { Problem } from "../errors.ts";
import { Container } from "./container.ts";
import type { Pool } from "./pool.ts";

export interface RegistryOptions {
  /** Runs in flight, a container. */
  readonly concurrency: number;
  readonly maxContainers: number;
  /** A container that has not been used for so long is closed. */
  readonly idleMs: number;
}

const SWEEP_MS = 1_000;
/** Runs are short: a place is free again after some milliseconds, but nobody can say which. */
const BUSY_RETRY_MS = 1_000;

/** The containers that are alive, least recently used first. */
export class Registry {
  readonly #containers: Map<string, Container> = new Map();
  readonly #pool: Pool;
  readonly #options: RegistryOptions;
  readonly #sweeper: NodeJS.Timeout;
  #taken = 0;
  #draining = false;

  constructor(pool: Pool, options: RegistryOptions) {
    this.#pool = pool;
    this.#options = options;
    this.#sweeper = setInterval(() => this.#sweep(), Math.min(SWEEP_MS, options.idleMs)).unref();
  }

  /** Runs that hold a place. */
  get taken(): number {
    return this.#taken;
  }

  /** Takes no new run. */
  drain(): void {
    this.#draining = true;
  }

  /**
   * Takes a place in a container, and the right to a guest, before anything is charged for it.
   *
   * @throws {Problem} `container_busy`, `overloaded`, `draining`.
   */
  reserve(name: string, nowMs: number): Container {
    if (this.#draining) {
      throw new Problem("draining", "the service is stopping", { retryAfterMs: BUSY_RETRY_MS });
    }
    const known = this.#containers.get(name);
    // Before room is made: a run that is refused must not cost another container its guest.
    if ((known?.isCold ?? true) && this.#pool.full) {
      throw new Problem("overloaded", "too many containers wait to be started", { retryAfterMs: BUSY_RETRY_MS });
    }
    const container = known ?? this.#open(name);
    if (container.taken >= this.#options.concurrency) {
      throw new Problem(
        "container_busy",
        `container "${name}" has ${container.taken} runs in flight, and may have no more`,
        {
          retryAfterMs: BUSY_RETRY_MS,
        },
      );
    }
    this.#taken++;
    container.taken++;
    container.usedMs = nowMs;
    return container;
  }

  release(container: Container): void {
    this.#taken--;
    container.taken--;
  }

  close(): void {
    clearInterval(this.#sweeper);
    for (const container of this.#containers.values()) container.close();
    this.#containers.clear();
  }

  #open(name: string): Container {
    if (this.#containers.size >= this.#options.maxContainers) this.#evict();
    const container = new Container(name, this.#pool);
    this.#containers.set(name, container);
    return container;
  }

  /** Makes room by closing the container that nobody has used for the longest time. */
  #evict(): void {
    let oldest: Container | null = null;
    for (const container of this.#containers.values()) {
      if (container.taken === 0 && (!oldest || container.usedMs < oldest.usedMs)) oldest = container;
    }
    if (!oldest) {
      throw new Problem(
        "overloaded",
        `${this.#containers.size} containers are at work, and there is room for no more`,
        {
          retryAfterMs: BUSY_RETRY_MS,
        },
      );
    }
    this.#remove(oldest);
  }

  #sweep(): void {
    const before = performance.now() - this.#options.idleMs;
    for (const container of this.#containers.values()) {
      if (container.taken === 0 && container.usedMs < before) this.#remove(container);
    }
  }

  #remove(container: Container): void {
    this.#containers.delete(container.name);
    container.close();
  }
}
