const SLOT_BITS = 16;
const MAX_SLOTS = 2 ** SLOT_BITS;
const MAX_TURN = 2 ** (32 - SLOT_BITS) - 1;

/**
 * The runs in flight by id. An id consists of a slot and the number of times that the slot was used, so it is not reused soon.
 *
 * It is not a Map, because V8 copies a Map that is filled and emptied all the time every few entries. V8 keeps what the
 * copies held until it collects the old generation. That took a fifth of the service's processor time.
 */
export class RunTable<T> {
  readonly #slots: (T | null)[] = [];
  readonly #turns: number[] = [];
  readonly #free: number[] = [];
  /** The slots whose turns began again at 1: each of their ids was used. */
  readonly #reused = new Set<number>();

  get size(): number {
    return this.#slots.length - this.#free.length;
  }

  /** @returns its id, an unsigned number of 32 bits. */
  add(guestRun: T): number {
    const slot = this.#free.pop() ?? this.#grow();
    this.#slots[slot] = guestRun;
    return this.#idOf(slot);
  }

  get(id: number): T | null {
    const slot = id % MAX_SLOTS;
    return slot < this.#slots.length && this.#idOf(slot) === id ? this.#slots[slot]! : null;
  }

  /** Whether an id belongs to a run that has ended. */
  had(id: number): boolean {
    const slot = id % MAX_SLOTS;
    const current = this.#turns[slot];
    const turn = Math.floor(id / MAX_SLOTS);
    if (current === undefined || turn === 0 || turn === current) return false;
    return turn < current || this.#reused.has(slot);
  }

  take(id: number): T | null {
    const guestRun = this.get(id);
    if (guestRun === null) return null;
    const slot = id % MAX_SLOTS;
    this.#slots[slot] = null;
    if (this.#turns[slot] === MAX_TURN) this.#reused.add(slot);
    this.#turns[slot] = (this.#turns[slot]! % MAX_TURN) + 1;
    this.#free.push(slot);
    return guestRun;
  }

  *[Symbol.iterator](): Generator<[id: number, guestRun: T]> {
    for (const [slot, guestRun] of this.#slots.entries()) if (guestRun !== null) yield [this.#idOf(slot), guestRun];
  }

  /** The id of the only run in flight; null if there is none or more than one. */
  get only(): number | null {
    return this.size === 1 ? this.any : null;
  }

  /** The id of any run in flight, or null if there is none. */
  get any(): number | null {
    const slot = this.#slots.findIndex((guestRun) => guestRun !== null);
    return slot === -1 ? null : this.#idOf(slot);
  }

  #grow(): number {
    if (this.#slots.length === MAX_SLOTS) throw new RangeError(`more than ${MAX_SLOTS} in flight`);
    // Counts from 1: no run has the id 0, which in a frame means no run.
    this.#turns.push(1);
    return this.#slots.push(null) - 1;
  }

  #idOf(slot: number): number {
    return this.#turns[slot]! * MAX_SLOTS + slot;
  }
}
