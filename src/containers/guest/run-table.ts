const SLOT_BITS = 16;
const MAX_SLOTS = 2 ** SLOT_BITS;
const MAX_TURN = 2 ** (32 - SLOT_BITS) - 1;

/**
 * What is in flight, by an id that is not given again soon: a slot, and how often that slot was taken.
 *
 * Not a Map: one that is filled and emptied all the time is copied every few entries, and V8 keeps what such a copy held
 * until it collects the old generation. That was a fifth of the service's processor time.
 */
export class RunTable<T> {
  readonly #slots: (T | null)[] = [];
  readonly #turns: number[] = [];
  readonly #free: number[] = [];

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

  take(id: number): T | null {
    const guestRun = this.get(id);
    if (guestRun === null) return null;
    const slot = id % MAX_SLOTS;
    this.#slots[slot] = null;
    this.#turns[slot] = (this.#turns[slot]! % MAX_TURN) + 1;
    this.#free.push(slot);
    return guestRun;
  }

  *[Symbol.iterator](): Generator<[id: number, guestRun: T]> {
    for (const [slot, guestRun] of this.#slots.entries()) if (guestRun !== null) yield [this.#idOf(slot), guestRun];
  }

  /** The id of the one that is in flight, when it is the only one. */
  get only(): number | null {
    return this.size === 1 ? this.any : null;
  }

  /** The id of one that is in flight, or null when there is none. */
  get any(): number | null {
    const slot = this.#slots.findIndex((guestRun) => guestRun !== null);
    return slot === -1 ? null : this.#idOf(slot);
  }

  #grow(): number {
    if (this.#slots.length === MAX_SLOTS) throw new RangeError(`more than ${MAX_SLOTS} in flight`);
    // From 1: no guestRun has the id 0, by which a guest names none.
    this.#turns.push(1);
    return this.#slots.push(null) - 1;
  }

  #idOf(slot: number): number {
    return this.#turns[slot]! * MAX_SLOTS + slot;
  }
}
