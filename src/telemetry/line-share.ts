/** The maximum number of remembered families. A caller without a token can come from many networks. */
const MAX_FAMILIES = 10_000;
const MINUTE_MS = 60_000;

interface Lines {
  sinceMs: number;
  written: number;
  omitted: number;
}

/**
 * Limits the log lines about runs that were refused before they counted against a limit. A caller may send any number
 * of these requests, and each line takes space on the operator's disk.
 */
export class LineShare {
  readonly #perMinute: number;
  readonly #families: Map<string, Lines> = new Map();

  /** @param perMinute the maximum number of lines a minute of each family of tokens. */
  constructor(perMinute: number) {
    this.#perMinute = perMinute;
  }

  /**
   * @returns null to omit this line, otherwise the number of lines of the family that were omitted in its last minute.
   */
  admit(family: string, nowMs: number): number | null {
    const known = this.#families.get(family);
    if (known && nowMs - known.sinceMs < MINUTE_MS) {
      if (known.written === this.#perMinute) {
        known.omitted++;
        return null;
      }
      known.written++;
      return 0;
    }
    // The family moves to the end, so that the first family in the map has the oldest minute.
    this.#families.delete(family);
    this.#families.set(family, { sinceMs: nowMs, written: 1, omitted: 0 });
    if (this.#families.size > MAX_FAMILIES) this.#families.delete(this.#families.keys().next().value!);
    return known?.omitted ?? 0;
  }
}
