/** The most families that are remembered: a caller without a token can come from many networks. */
const MAX_FAMILIES = 10_000;
const MINUTE_MS = 60_000;

interface Lines {
  sinceMs: number;
  written: number;
  left: number;
}

/**
 * Bounds the log lines about runs that were refused before they counted against a limit: a caller may send any number of
 * such requests, and each line takes disk of the operator.
 */
export class LineShare {
  readonly #perMinute: number;
  readonly #families: Map<string, Lines> = new Map();

  /** @param perMinute lines of each family of tokens. */
  constructor(perMinute: number) {
    this.#perMinute = perMinute;
  }

  /** @returns how many lines of the family were left out since its last minute of lines began; null: leave out this line. */
  admit(family: string, nowMs: number): number | null {
    const known = this.#families.get(family);
    if (known && nowMs - known.sinceMs < MINUTE_MS) {
      if (known.written === this.#perMinute) {
        known.left++;
        return null;
      }
      known.written++;
      return 0;
    }
    // The family moves to the end, so that the first in the map is the one whose minute began first.
    this.#families.delete(family);
    this.#families.set(family, { sinceMs: nowMs, written: 1, left: 0 });
    if (this.#families.size > MAX_FAMILIES) this.#families.delete(this.#families.keys().next().value!);
    return known?.left ?? 0;
  }
}
