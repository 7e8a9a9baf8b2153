import { Problem } from "../errors.ts";
import type { Guest } from "./guest.ts";
import type { Pool, Taken } from "./pool.ts";

/** A guest is replaced after this many runs or this long, whatever it looks like from outside. */
const MAX_RUNS = 100_000;
const MAX_AGE_MS = 20 * 60_000;

const MAX_DRAINING = 2;
const CLOSED = new Problem("container_restarted", "the container was closed");

/** One container: its guest, when it has one, and the places in it. */
export class Container {
  readonly name: string;
  /** Places taken by runs, from before they are admitted until they are answered. */
  taken = 0;
  usedMs = 0;
  readonly #pool: Pool;
  #warm: Taken | null = null;
  #arriving: Promise<Taken> | null = null;
  #draining: Guest[] = [];

  constructor(name: string, pool: Pool) {
    this.name = name;
    this.#pool = pool;
  }

  /** The guest that may take a run now, if there is one. */
  warm(nowMs: number): Taken | null {
    if (!this.#warm) return null;
    const { guest } = this.#warm;
    if (guest.runs >= MAX_RUNS || nowMs - guest.startedMs > MAX_AGE_MS) guest.retire();
    if (!guest.draining) return this.#warm;
    this.#warm = null;
    this.#outlive(guest);
    return null;
  }

  /** Whether a run would have to wait for a guest that nobody has asked for yet. */
  get isCold(): boolean {
    return this.#arriving === null && (this.#warm?.guest.draining ?? true);
  }

  /** A guest from the pool; runs that come meanwhile wait for the same one. @throws {Problem} when there is none. */
  async arrive(): Promise<Taken> {
    this.#arriving ??= this.#take();
    return this.#arriving;
  }

  /** Ends what is left of it. */
  close(): void {
    for (const guest of [...this.#draining, this.#warm?.guest]) guest?.end(CLOSED);
    this.#draining = [];
    this.#warm = null;
  }

  /** Guests that drain are beside those that are counted; a task that keeps its own from ending must not gather them. */
  #outlive(guest: Guest): void {
    this.#draining = [...this.#draining.filter((each) => !each.ended), guest];
    if (this.#draining.length > MAX_DRAINING) this.#draining.shift()!.end(CLOSED);
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
