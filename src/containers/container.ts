import { Problem } from "../errors.ts";
import type { Pool, Taken } from "./pool.ts";

/** A guest is replaced after this many runs or this long, whatever it looks like from outside. */
const MAX_RUNS = 100_000;
const MAX_AGE_MS = 20 * 60_000;

/** One container: its guest, when it has one, and the places in it. */
export class Container {
  readonly name: string;
  /** Places taken by runs, from before they are admitted until they are answered. */
  taken = 0;
  usedMs = 0;
  readonly #pool: Pool;
  #warm: Taken | null = null;
  #arriving: Promise<Taken> | null = null;

  constructor(name: string, pool: Pool) {
    this.name = name;
    this.#pool = pool;
  }

  /** The guest that may take a run now, if there is one. */
  warm(nowMs: number): Taken | null {
    if (!this.#warm) return null;
    const { guest } = this.#warm;
    if (guest.runs >= MAX_RUNS || nowMs - guest.startedMs > MAX_AGE_MS) guest.retire();
    if (guest.draining) this.#warm = null;
    return this.#warm;
  }

  /** Whether a run would have to wait for a guest that nobody has asked for yet. */
  get isCold(): boolean {
    return this.#warm === null && this.#arriving === null;
  }

  /** A guest from the pool; runs that come meanwhile wait for the same one. @throws {Problem} when there is none. */
  async arrive(): Promise<Taken> {
    this.#arriving ??= this.#take();
    return this.#arriving;
  }

  /** Ends what is left of it. */
  close(): void {
    this.#warm?.guest.end(new Problem("container_restarted", "the container was closed"));
    this.#warm = null;
  }

  async #take(): Promise<Taken> {
    try {
      const taken = await this.#pool.take();
      this.#warm = { guest: taken.guest, start: "warm" };
      return taken;
    } finally {
      this.#arriving = null;
    }
  }
}
