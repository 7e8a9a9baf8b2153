import { LONGEST_MS, WINDOW_MS } from "./windows.ts";

/** A window with at most this many entries is an exact sliding log. The entries of a fuller window are merged. */
const EXACT_ENTRIES = 128;

/** The number of cells in a window. Merging releases a run at most one cell, `W / 64`, late. */
const CELLS = 64;

/**
 * The number of entries that triggers compaction of a key. After compaction each window adds to the shorter ones either
 * unmerged entries (at most 128 in all) or one entry for each cell, so six windows hold fewer than 460 entries.
 */
const MAX_ENTRIES = 512;

/** Numbers in an entry: a time and a total. */
const STRIDE = 2;
const MAX_NUMBERS = (MAX_ENTRIES + 1) * STRIDE;

/** The initial list of every log. It is shared and never written to. */
const NOTHING: number[] = [-Infinity, 0];

/**
 * The admissions of one key, for all six windows at once.
 *
 * The windows share one list. Each entry is a pair: a time, and the number of runs up to and including that time. The oldest
 * entry comes first. The use of a window is the newest total minus the total of the last entry that is older than the
 * window. Charging all six windows is therefore one addition. Merging an entry into the next one means to omit it, which
 * keeps the later time: a run is released late, never early. The first pair stands for everything older and has no time.
 */
export class CellLog {
  #cells: number[] = NOTHING;
  /** The number of the journal in which this key has the number `id`. The embedded store sets both. */
  journal = 0;
  id = 0;
  /** The number of the newest snapshot that has recorded this key. The embedded store sets it. */
  snapshot = 0;

  /** The time of the newest admission, in milliseconds, or `-Infinity`. */
  get newest(): number {
    return this.#cells[this.#cells.length - STRIDE]!;
  }

  get empty(): boolean {
    return this.#cells.length === STRIDE;
  }

  /** Counts `count` runs at `now`, which is never earlier than the newest entry. */
  charge(now: number, count = 1): void {
    const cells = this.#cells;
    const last = cells.length - STRIDE;
    if (last === 0) {
      // A literal, because an array that grows by `push` reserves 17 more elements, and most keys are used once.
      this.#cells = [-Infinity, 0, now, count];
    } else if (cells[last] === now) {
      cells[last + 1]! += count;
    } else {
      cells.push(now, cells[last + 1]! + count);
      if (cells.length > MAX_NUMBERS) this.#compact(now);
    }
  }

  /** Removes the newest charge. Callers undo charges in reverse order. */
  undo(): void {
    const cells = this.#cells;
    const last = cells.length - STRIDE;
    cells[last + 1]! -= 1;
    if (cells[last + 1] === cells[last - 1]) cells.length = last;
  }

  /** Returns how many runs count in the window of `windowMs` that ends at `now`. Merging can only increase this number. */
  used(windowMs: number, now: number): number {
    return this.#total() - this.#cells[this.#lastBefore(now - windowMs) + 1]!;
  }

  /** Returns the milliseconds until at most `allowed` runs count in the window. `allowed` must be below the current use. */
  waitMs(windowMs: number, now: number, allowed: number): number {
    const cells = this.#cells;
    const total = this.#total();
    let low = STRIDE;
    let high = cells.length - STRIDE;
    while (low < high) {
      const middle = ((low + high) >> 2) * STRIDE;
      if (total - cells[middle + 1]! <= allowed) high = middle;
      else low = middle + STRIDE;
    }
    return cells[low]! + windowMs - now;
  }

  /** Yields the time and the count of each entry that the longest window still holds, oldest first. */
  *entries(now: number): Generator<[time: number, count: number]> {
    const cells = this.#cells;
    for (let at = this.#lastBefore(now - LONGEST_MS) + STRIDE; at < cells.length; at += STRIDE) {
      yield [cells[at]!, cells[at + 1]! - cells[at - 1]!];
    }
  }

  #total(): number {
    return this.#cells[this.#cells.length - 1]!;
  }

  /** Returns the index of the newest entry that is not later than `time`, or 0, the pair without a time. */
  #lastBefore(time: number): number {
    const cells = this.#cells;
    let low = 0;
    let high = cells.length - STRIDE;
    // Both ends first: a window of a busy key starts before its first entry, and one of a quiet key after its last.
    if (cells[high]! <= time) return high;
    if (cells[STRIDE]! > time) return 0;
    while (high - low > STRIDE) {
      const middle = ((low + high) >> 2) * STRIDE;
      if (cells[middle]! <= time) low = middle;
      else high = middle;
    }
    return low;
  }

  /** Drops entries that no window holds, and merges neighbours in windows with more than `EXACT_ENTRIES`. */
  #compact(now: number): void {
    const cells = this.#cells;
    const newest = cells.length - STRIDE;
    const expired = WINDOW_MS.map((windowMs) => this.#lastBefore(now - windowMs));
    const crowded = expired.map((at) => (newest - at) / STRIDE > EXACT_ENTRIES);
    cells[1] = cells[expired.at(-1)! + 1]!;
    let end = STRIDE;
    let window = WINDOW_MS.length - 1;
    for (let at = expired[window]! + STRIDE; at <= newest; at += STRIDE) {
      // The shortest window that still holds this entry. Each longer window holds it too.
      while (window > 0 && expired[window - 1]! < at) window--;
      // An entry merged across the edge of a shorter window would count in that window again.
      const atEdge = at === newest || (window > 0 && expired[window - 1] === at);
      if (!atEdge && crowded[window]! && sameCell(window, cells[at]!, cells[at + STRIDE]!)) continue;
      cells[end] = cells[at]!;
      cells[end + 1] = cells[at + 1]!;
      end += STRIDE;
    }
    cells.length = end;
  }
}

/** Compares two cells: the cells of each window lie inside those of every longer window, except a week's in a month's. */
function sameCell(window: number, earlier: number, later: number): boolean {
  return (
    cellOf(earlier, WINDOW_MS[window]!) === cellOf(later, WINDOW_MS[window]!) &&
    cellOf(earlier, LONGEST_MS) === cellOf(later, LONGEST_MS)
  );
}

function cellOf(time: number, windowMs: number): number {
  return Math.floor((time * CELLS) / windowMs);
}
