/**
 * Keeps one item prepared, so that the next caller does not wait for it. An item that no caller takes is dropped.
 */
export class Ahead<Thing> {
  readonly #make: () => Thing;
  #next: Thing | null = null;
  #making: NodeJS.Immediate | null = null;
  #closed = false;

  constructor(make: () => Thing) {
    this.#make = make;
  }

  /** Returns the prepared item, or makes an item. @throws the error of `make`. */
  take(): Thing {
    const item = this.#next ?? this.#make();
    this.#next = null;
    if (!this.#closed) this.#making ??= setImmediate(() => this.#makeNext());
    return item;
  }

  /** Stops preparing items. */
  close(): void {
    this.#closed = true;
    if (this.#making) clearImmediate(this.#making);
  }

  #makeNext(): void {
    this.#making = null;
    try {
      this.#next ??= this.#make();
    } catch {
      // `take` calls `make` again, and throws if it fails again.
    }
  }
}
