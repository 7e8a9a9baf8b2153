/** The part of a family, as a multiple of what is free. One family alone may fill three quarters of the place. */
const MOST_OF_FREE = 3;

/**
 * Bounds what waits for a disk. A family may have at most three times what is free, so a family that floods while the disk
 * stands still leaves a place to each other family.
 */
export class WaitingBytes {
  readonly #most: number;
  readonly #families = new Map<string, number>();
  #all = 0;

  constructor(most: number) {
    this.#most = most;
  }

  fits(family: string, bytes: number): boolean {
    const free = this.#most - this.#all - bytes;
    return free >= 0 && (this.#families.get(family) ?? 0) + bytes <= MOST_OF_FREE * free;
  }

  add(family: string, bytes: number): void {
    this.#families.set(family, (this.#families.get(family) ?? 0) + bytes);
    this.#all += bytes;
  }

  release(family: string, bytes: number): void {
    const left = (this.#families.get(family) ?? 0) - bytes;
    if (left > 0) this.#families.set(family, left);
    else this.#families.delete(family);
    this.#all -= bytes;
  }

  clear(): void {
    this.#families.clear();
    this.#all = 0;
  }
}
