/** What one family holds in one container. */
export interface Holding<C> {
  readonly container: C;
  readonly share: FamilyShare<C>;
  /** The number of runs. */
  runs: number;
  /** The neighbours in the order of use. Only `FamilyShares` writes them. */
  older: Holding<C> | null;
  newer: Holding<C> | null;
}

/** The memory of one family. */
export interface FamilyShare<C> {
  readonly family: string;
  readonly bytes: number;
  /** The least recently used holding. */
  readonly oldest: Holding<C>;
  /** The most recently used holding. */
  readonly newest: Holding<C>;
}

/** Families of about the same size that are compared for the largest, so that many equal families cost no search. */
const COMPARED = 16;

/**
 * The memory of each family. It finds the largest family and the least recently used holding of a family at once, however
 * many families and containers there are.
 */
export class FamilyShares<C> {
  readonly #shares = new Map<string, Share<C>>();
  /** The families by their magnitude, see `magnitudeOf`. */
  readonly #byMagnitude: Set<Share<C>>[] = [];
  #bytes = 0;

  /** The bytes of all families. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Adds an empty holding as the most recently used one. */
  open(family: string, container: C): Holding<C> {
    let share = this.#shares.get(family);
    if (!share) {
      this.#shares.set(family, (share = new Share(family)));
      this.#setOf(0).add(share);
    }
    const holding: Holding<C> = { container, share, runs: 0, older: null, newer: null };
    append(share, holding);
    return holding;
  }

  /** Removes a holding, whose bytes were released before. */
  close(holding: Holding<C>): void {
    const share = holding.share as Share<C>;
    unlink(share, holding);
    if (share.last !== null) return;
    this.#shares.delete(share.family);
    this.#setOf(share.magnitude).delete(share);
  }

  /** Makes a holding the most recently used one of its family. */
  use(holding: Holding<C>): void {
    if (holding.newer === null) return;
    const share = holding.share as Share<C>;
    unlink(share, holding);
    append(share, holding);
  }

  /** @param bytes negative for a release */
  grow(holding: Holding<C>, bytes: number): void {
    const share = holding.share as Share<C>;
    this.#bytes += bytes;
    share.bytes += bytes;
    const magnitude = magnitudeOf(share.bytes);
    if (magnitude === share.magnitude) return;
    this.#setOf(share.magnitude).delete(share);
    share.magnitude = magnitude;
    this.#setOf(magnitude).add(share);
  }

  /**
   * Returns the family with the most bytes. Among more than `COMPARED` families that differ by less than a factor of two,
   * it may be another one of them.
   */
  largest(): FamilyShare<C> {
    const top = this.#byMagnitude.findLast(({ size }) => size > 0)!;
    let largest: Share<C> | null = null;
    let compared = 0;
    for (const share of top) {
      if (largest === null || share.bytes > largest.bytes) largest = share;
      if (++compared === COMPARED) break;
    }
    return largest!;
  }

  #setOf(magnitude: number): Set<Share<C>> {
    while (this.#byMagnitude.length <= magnitude) this.#byMagnitude.push(new Set());
    return this.#byMagnitude[magnitude]!;
  }
}

class Share<C> implements FamilyShare<C> {
  readonly family: string;
  bytes = 0;
  magnitude = 0;
  first: Holding<C> | null = null;
  last: Holding<C> | null = null;

  constructor(family: string) {
    this.family = family;
  }

  get oldest(): Holding<C> {
    return this.first!;
  }

  get newest(): Holding<C> {
    return this.last!;
  }
}

/** Returns the number of binary digits of the size in KiB. */
function magnitudeOf(bytes: number): number {
  return 32 - Math.clz32(bytes / 1_024);
}

function append<C>(share: Share<C>, holding: Holding<C>): void {
  holding.older = share.last;
  if (share.last) share.last.newer = holding;
  else share.first = holding;
  share.last = holding;
}

function unlink<C>(share: Share<C>, holding: Holding<C>): void {
  const { older, newer } = holding;
  if (older) older.newer = newer;
  else share.first = newer;
  if (newer) newer.older = older;
  else share.last = older;
  holding.older = null;
  holding.newer = null;
}
