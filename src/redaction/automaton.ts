import { randomInt } from "node:crypto";

/** The state before the first symbol. */
export const START = 0;

/**
 * Finds many patterns in one pass over any text (A. V. Aho and M. J. Corasick: Efficient string matching, 1975).
 * Construction is linear in the total length of the patterns, and a pass is linear in the length of the text.
 *
 * All edges share one hash table. A table of 256 entries for each state would take a kilobyte for each byte of a
 * pattern.
 */
export class Automaton {
  /** `state * 256 + symbol`, or 0 for a free slot, because no symbol is 0. */
  readonly #keys: Uint32Array;
  readonly #targets: Uint32Array;
  readonly #mask: number;
  /** A secret odd number, so that an attacker cannot choose patterns whose edges collide. */
  readonly #factor: number = randomInt(2 ** 31) * 2 + 1;
  readonly #fallback: Uint32Array;
  readonly #depth: Uint32Array;
  readonly #matchLengths: Uint32Array;
  #states = 1;

  /** @param patterns sequences of symbols from 1 to 255. */
  constructor(patterns: readonly Uint8Array[]) {
    const most = patterns.reduce((sum, { length }) => sum + length, 1);
    const capacity = 2 ** Math.ceil(Math.log2(most * 2));
    this.#keys = new Uint32Array(capacity);
    this.#targets = new Uint32Array(capacity);
    this.#mask = capacity - 1;
    this.#depth = new Uint32Array(most);
    this.#matchLengths = new Uint32Array(most);
    this.#fallback = new Uint32Array(most);
    const parents = new Uint32Array(most);
    const symbols = new Uint8Array(most);
    for (const pattern of patterns) {
      let state = START;
      for (const symbol of pattern) {
        const slot = this.#slotOf(state, symbol);
        if (this.#keys[slot] === 0) {
          const added = this.#states++;
          this.#keys[slot] = state * 256 + symbol;
          this.#targets[slot] = added;
          this.#depth[added] = this.#depth[state]! + 1;
          parents[added] = state;
          symbols[added] = symbol;
        }
        state = this.#targets[slot]!;
      }
      this.#matchLengths[state] = pattern.length;
    }
    for (const state of this.#byDepth()) {
      const parent = parents[state]!;
      if (parent !== START) this.#fallback[state] = this.next(this.#fallback[parent]!, symbols[state]!);
      // A pattern that ends in this state has its full depth. Otherwise a shorter pattern may end here.
      this.#matchLengths[state] ||= this.#matchLengths[this.#fallback[state]!]!;
    }
  }

  /** Returns the state after one more symbol. */
  next(state: number, symbol: number): number {
    for (let from = state; ; from = this.#fallback[from]!) {
      const slot = this.#slotOf(from, symbol);
      if (this.#keys[slot] !== 0) return this.#targets[slot]!;
      if (from === START) return START;
    }
  }

  /** Returns the length of the longest pattern that ends in this state, or 0. */
  matchLength(state: number): number {
    return this.#matchLengths[state]!;
  }

  /** Returns the number of last symbols that are the start of a pattern. */
  prefixLength(state: number): number {
    return this.#depth[state]!;
  }

  /** Returns the slot of the edge, or the free slot for it. */
  #slotOf(state: number, symbol: number): number {
    const key = state * 256 + symbol;
    let slot = (Math.imul(key, this.#factor) >>> 8) & this.#mask;
    while (this.#keys[slot] !== 0 && this.#keys[slot] !== key) slot = (slot + 1) & this.#mask;
    return slot;
  }

  /** Returns all states except the first, sorted by depth with a counting sort. */
  #byDepth(): Uint32Array {
    const starts = new Uint32Array(this.#states + 1);
    for (let state = 1; state < this.#states; state++) starts[this.#depth[state]! + 1]!++;
    for (let depth = 1; depth <= this.#states; depth++) starts[depth]! += starts[depth - 1]!;
    const order = new Uint32Array(this.#states - 1);
    for (let state = 1; state < this.#states; state++) order[starts[this.#depth[state]!]!++] = state;
    return order;
  }
}
