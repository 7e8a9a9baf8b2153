import { Problem } from "../errors.ts";
import { CrashLoop } from "./crash-loop.ts";
import type { Guest } from "./guest/guest.ts";
import type { IsolationGroup } from "./isolation-group.ts";
import type { Pool, Taken } from "./pool.ts";
import type { TokenLineage } from "./token-quotas.ts";

/** A guest is replaced after this many runs or this long, whatever it looks like from outside. */
const MAX_RUNS = 100_000;
const MAX_AGE_MS = 20 * 60_000;

/** By then a guest that is blocked has been ended; one that is not is on a machine too busy to tell. */
const HELD_MS = 10_000;
const MAX_DRAINING = 2;
const CLOSED = new Problem("container_restarted", "the container was closed");

/** One container: the places in it, and what each isolation group has of it. */
export class Container {
  readonly name: string;
  /** Places taken by runs of all groups, from before they are admitted until they are answered. */
  taken = 0;
  /** The places of these that runs without a token take. */
  publicTaken = 0;
  /** By the key of their isolation group; those of fresh guests, which nobody looks for, are not among them. */
  readonly slots: Map<string, GuestSlot> = new Map();

  constructor(name: string) {
    this.name = name;
  }
}

/** The share that one isolation group has of a container: its guest, if there is one, and the token it counts for. */
export class GuestSlot {
  readonly container: Container;
  readonly group: IsolationGroup;
  /** Whose container it counts as: the token that made it come alive, until that has left it to others. */
  holder: TokenLineage;
  /** Whether a run without a token opened it. */
  readonly isPublic: boolean;
  /** When the holder last used it, and when anybody did. On the clock of `performance.now()`. */
  holderUsedMs = 0;
  usedMs = 0;
  /** Runs that have a place in it. */
  taken = 0;
  readonly #pool: Pool;
  readonly #crashes = new CrashLoop();
  #warm: Taken | null = null;
  /** 0 as long as it has had none. */
  #warmSinceMs = 0;
  #arriving: Promise<Taken> | null = null;
  #draining: Guest[] = [];

  constructor(
    container: Container,
    group: IsolationGroup,
    holder: TokenLineage,
    pool: Pool,
    isPublic: boolean = false,
  ) {
    this.container = container;
    this.isPublic = isPublic;
    this.group = group;
    this.holder = holder;
    this.#pool = pool;
  }

  /** The guest that may take a run now, if there is one. What it was sent while it is blocked would end with it. */
  warm(nowMs: number): Taken | null {
    if (!this.#warm) return null;
    const { guest } = this.#warm;
    if (guest.runs >= MAX_RUNS || nowMs - guest.startedMs > MAX_AGE_MS) guest.retire();
    if (!guest.draining) return guest.heartbeat.isOverdue(nowMs) ? null : this.#warm;
    this.#letGo(guest);
    return null;
  }

  /** Whether a run would have to wait for a guest that nobody has asked for yet. */
  get isCold(): boolean {
    return this.#arriving === null && (this.#warm?.guest.draining ?? true);
  }

  /** Milliseconds for which it gets no other guest, because its own have died at once again and again; 0 for none. */
  backOffMs(nowMs: number): number {
    if (!this.isCold) return 0;
    if (this.#warm) this.#letGo(this.#warm.guest);
    return this.#crashes.waitMs(nowMs);
  }

  /**
   * Its guest once that answers again, else one from the pool; runs that come meanwhile wait for the same one.
   *
   * @throws {Problem} when there is none.
   */
  async arrive(): Promise<Taken> {
    const silent = this.#warm;
    if (silent && !silent.guest.draining) {
      await settledWithin(silent.guest, HELD_MS);
      if (!silent.guest.draining) return silent;
    }
    if (this.#warm?.guest.draining) this.#letGo(this.#warm.guest);
    // Another run that waited was here first.
    if (this.#warm) return this.#warm;
    this.#arriving ??= this.#take();
    return this.#arriving;
  }

  /** Ends what is left of it. */
  close(): void {
    for (const guest of [...this.#draining, this.#warm?.guest]) guest?.close(CLOSED);
    this.#draining = [];
    this.#warm = null;
  }

  /** Lets a guest go that takes no new run. */
  #letGo(guest: Guest): void {
    this.#warm = null;
    if (guest.crashedMs !== null) {
      this.#crashes.died(guest.crashedMs, guest.crashedMs - this.#warmSinceMs, guest.answered > 0);
    }
    // Guests that drain are beside those that are counted; a task that keeps its own from ending must not gather them.
    this.#draining = [...this.#draining.filter((each) => !each.ended), guest];
    if (this.#draining.length > MAX_DRAINING) this.#draining.shift()!.end(CLOSED);
  }

  async #take(): Promise<Taken> {
    try {
      const taken = await this.#pool.take(this.#warmSinceMs > 0);
      // Before it gets any code.
      taken.guest.net = this.group.net;
      this.#warm = { guest: taken.guest, start: "warm" };
      this.#warmSinceMs = performance.now();
      return taken;
    } finally {
      this.#arriving = null;
    }
  }
}

async function settledWithin(guest: Guest, milliseconds: number): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, milliseconds);
  await Promise.race([guest.heartbeat.settled(), promise]);
  clearTimeout(timer);
}
