/**
 * Makes one thing more than was asked for, while nobody waits for it: what is asked for next is there.
 *
 * @typeParam Thing - that nobody misses when it was made in vain
 */
export class Ahead<Thing> {
  readonly #make: () => Thing;
  #next: Thing | null = null;
  #making: NodeJS.Immediate | null = null;
  #closed = false;

  constructor(make: () => Thing) {
    this.#make = make;
  }

  /** @throws what making one throws, when none is there. */
  take(): Thing {
    const taken = this.#next ?? this.#make();
    this.#next = null;
    if (!this.#closed) this.#making ??= setImmediate(() => this.#makeNext());
    return taken;
  }

  /** Makes no further one. */
  close(): void {
    this.#closed = true;
    if (this.#making) clearImmediate(this.#making);
  }

  #makeNext(): void {
    this.#making = null;
    try {
      this.#next ??= this.#make();
    } catch {
      // Whoever takes the next one is told, should it still be so.
    }
  }
}
