/** The memory that one request uses. */
export interface Hold {
  /** Adds bytes. The share may then cut this hold itself. */
  readonly grow: (bytes: number) => void;
  /**
   * Excludes the hold from cuts, because a cut would not free its memory any more.
   *
   * @returns false, without an effect, if the owner has pinned too much memory
   */
  readonly pin: () => boolean;
  /** Releases all bytes. Further calls have no effect. */
  readonly release: () => void;
}

/**
 * The memory that all requests of one kind share. If they exceed it together, the owner with the most bytes loses its
 * oldest hold. So connections cannot fill the memory, however many there are, and no owner can take it from the others.
 *
 * Pinned holds cannot be cut. So an owner may pin at most half of the memory, and less if others have pinned some: its
 * pinned bytes must fit into the memory that is not pinned. Otherwise one owner could pin all memory, and the holds of
 * all others would be cut. The first hold of an owner may always be pinned.
 *
 * An owner is a token together with all its descendants, or the network of a client without a token. A limit on a
 * single token would be useless, because its holder can issue more tokens.
 */
export class FairShare {
  readonly #maxBytes: number;
  readonly #owners = new Map<string, Owner>();
  #bytes = 0;
  #pinnedBytes = 0;
  #holds = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** The bytes of all holds. */
  get bytes(): number {
    return this.#bytes;
  }

  /** @param cut ends the request that uses the memory; called after the share has released the hold */
  hold(name: string, cut: () => void): Hold {
    let owner = this.#owners.get(name);
    if (!owner) this.#owners.set(name, (owner = { name, bytes: 0, pinnedBytes: 0, holds: new Set() }));
    const entry: Entry = { bytes: 0, cut };
    owner.holds.add(entry);
    this.#holds += 1;
    return {
      grow: (bytes) => {
        if (!owner.holds.has(entry)) return;
        entry.bytes += bytes;
        owner.bytes += bytes;
        this.#bytes += bytes;
        this.#cutTheLargest();
      },
      pin: () => this.#pin(owner, entry),
      release: () => this.#release(owner, entry),
    };
  }

  #pin(owner: Owner, entry: Entry): boolean {
    if (!entry.cut) return true;
    const ofOwner = owner.pinnedBytes + entry.bytes;
    const ofAll = this.#pinnedBytes + entry.bytes;
    if (owner.pinnedBytes > 0 && ofOwner + ofAll > this.#maxBytes) return false;
    entry.cut = null;
    owner.pinnedBytes = ofOwner;
    this.#pinnedBytes = ofAll;
    return true;
  }

  #cutTheLargest(): void {
    // The only hold is never cut, however large it is.
    while (this.#bytes > this.#maxBytes && this.#holds > 1) {
      let largest: { owner: Owner; entry: Entry } | null = null;
      for (const owner of this.#owners.values()) {
        if (largest && owner.bytes <= largest.owner.bytes) continue;
        const entry = oldestOf(owner);
        if (entry) largest = { owner, entry };
      }
      if (!largest) return;
      const { cut } = largest.entry;
      this.#release(largest.owner, largest.entry);
      cut!();
    }
  }

  #release(owner: Owner, entry: Entry): void {
    if (!owner.holds.delete(entry)) return;
    this.#holds -= 1;
    this.#bytes -= entry.bytes;
    owner.bytes -= entry.bytes;
    if (!entry.cut) {
      this.#pinnedBytes -= entry.bytes;
      owner.pinnedBytes -= entry.bytes;
    }
    if (owner.holds.size === 0 && this.#owners.get(owner.name) === owner) this.#owners.delete(owner.name);
  }
}

interface Owner {
  readonly name: string;
  bytes: number;
  /** The bytes of pinned holds, which `bytes` includes. */
  pinnedBytes: number;
  /** The holds, oldest first. */
  readonly holds: Set<Entry>;
}

interface Entry {
  bytes: number;
  /** Null if the hold is pinned. */
  cut: (() => void) | null;
}

/** Returns the oldest hold of an owner that can be cut. */
function oldestOf({ holds }: Owner): Entry | null {
  for (const entry of holds) if (entry.cut && entry.bytes > 0) return entry;
  return null;
}
