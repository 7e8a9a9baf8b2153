import { LONGEST_MS, WINDOW_MS } from "./windows.ts";

/** A window with at most so many entries is an exact sliding log; only one with more is merged. */
const EXACT_ENTRIES = 128;

/** A window is cut into so many cells: merging releases a run at most `W / 64` late. */
const CELLS = 64;

/**
 * How many entries a key may have before it is compacted. After compaction each window in turn adds to the shorter ones
 * either nothing merged (and then at most 128 in all) or one entry a cell, which makes fewer than 460 for the six of them.
 */
const MAX_ENTRIES = 512;

/** Two numbers an entry. */
const STRIDE = 2;
const MAX_NUMBERS = (MAX_ENTRIES + 1) * STRIDE;

/** Shared by all that are empty, never written to. */
const NOTHING: number[] = [-Infinity, 0];

/**
 * The admissions of one key, for all six windows at once.
 *
 * The windows share their history, so they share one list: pairs of a time and of how many runs there were up to and at
 * that time, oldest first. The use of a window is the newest total less the total at the last entry that the window has
 * left behind; charging all six is one addition, and merging an entry into the next one is leaving it out, which keeps
 * the later time: a run is released late, never early. The first pair stands for everything older and has no time.
 */
export class CellLog {
  #cells: number[] = NOTHING;
  /** The journal that knows this key by `id`; see the store. */
  journal = 0;
  id = 0;
  /** The newest snapshot that holds this key as it was when the snapshot began; see the store. */
  snapshot = 0;

  /** The time of the newest admission, in milliseconds, or `-Infinity`. */
  get newest(): number {
    return this.#cells[this.#cells.length - STRIDE]!;
  }

  get empty(): boolean {
    return this.#cells.length === STRIDE;
  }

  /** Counts `count` runs at `now`, which is never before the newest entry. */
  charge(now: number, count = 1): void {
    const cells = this.#cells;
    const last = cells.length - STRIDE;
    if (last === 0) {
      // As a literal: an array that grows by `push` leaves room for 17 more, and most keys are used once.
      this.#cells = [-Infinity, 0, now, count];
    } else if (cells[last] === now) {
      cells[last + 1]! += count;
    } else {
      cells.push(now, cells[last + 1]! + count);
      if (cells.length > MAX_NUMBERS) this.#compact(now);
    }
  }

  /** Takes back the newest charge. Charges are taken back in the opposite order of their making. */
  undo(): void {
    const cells = this.#cells;
    const last = cells.length - STRIDE;
    cells[last + 1]! -= 1;
    if (cells[last + 1] === cells[last - 1]) cells.length = last;
  }

  /** How many runs count in the window of `windowMs` that ends at `now`: never fewer than there were. */
  used(windowMs: number, now: number): number {
    return this.#total() - this.#cells[this.#lastBefore(now - windowMs) + 1]!;
  }

  /** How many milliseconds after `now` at most `allowed` runs count in the window; `allowed` is less than is used now. */
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

  /** The entries that still count anywhere, oldest first, as times and counts. */
  *entries(now: number): Generator<[time: number, count: number]> {
    const cells = this.#cells;
    for (let at = this.#lastBefore(now - LONGEST_MS) + STRIDE; at < cells.length; at += STRIDE) {
      yield [cells[at]!, cells[at + 1]! - cells[at - 1]!];
    }
  }

  #total(): number {
    return this.#cells[this.#cells.length - 1]!;
  }

  /** Where the newest entry stands that is not later than `time`; the timeless first one when there is none. */
  #lastBefore(time: number): number {
    const cells = this.#cells;
    let low = 0;
    let high = cells.length - STRIDE;
    // Both ends first: the windows of a busy key reach beyond its list, those of a quiet one begin after it.
    if (cells[high]! <= time) return high;
    if (cells[STRIDE]! > time) return 0;
    while (high - low > STRIDE) {
      const middle = ((low + high) >> 2) * STRIDE;
      if (cells[middle]! <= time) low = middle;
      else high = middle;
    }
    return low;
  }

  /** Drops what no window holds any more, and merges neighbours where a window holds more than it keeps exactly. */
  #compact(now: number): void {
    const cells = this.#cells;
    const newest = cells.length - STRIDE;
    const left = WINDOW_MS.map((windowMs) => this.#lastBefore(now - windowMs));
    const crowded = left.map((at) => (newest - at) / STRIDE > EXACT_ENTRIES);
    cells[1] = cells[left.at(-1)! + 1]!;
    let end = STRIDE;
    let window = WINDOW_MS.length - 1;
    for (let at = left[window]! + STRIDE; at <= newest; at += STRIDE) {
      // The shortest window that still holds this entry. What it has not left, no longer one has.
      while (window > 0 && left[window - 1]! < at) window--;
      // Merged over the edge of a shorter window, a run would count in it again.
      const atEdge = at === newest || (window > 0 && left[window - 1] === at);
      if (!atEdge && crowded[window]! && sameCell(window, cells[at]!, cells[at + STRIDE]!)) continue;
      cells[end] = cells[at]!;
      cells[end + 1] = cells[at + 1]!;
      end += STRIDE;
    }
    cells.length = end;
  }
}

/** Cells of a window lie whole within those of each longer one, but a week's do not within a month's: both are asked. */
function sameCell(window: number, earlier: number, later: number): boolean {
  return (
    cellOf(earlier, WINDOW_MS[window]!) === cellOf(later, WINDOW_MS[window]!) &&
    cellOf(earlier, LONGEST_MS) === cellOf(later, LONGEST_MS)
  );
}

function cellOf(time: number, windowMs: number): number {
  return Math.floor((time * CELLS) / windowMs);
}
