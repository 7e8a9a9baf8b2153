/** The memory that one request uses. */
export interface Hold {
  /** Adds bytes. The share may then cut this hold itself. */
  grow(bytes: number): void;
  /**
   * Excludes the hold from cuts, because a cut would not free its memory any more.
   *
   * @returns false, without an effect, if the owner has pinned too much memory
   */
  pin(): boolean;
  /** Releases all bytes. Further calls have no effect. */
  release(): void;
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
  /**
   * Also owners without holds, which are removed together. V8 copies a Map that is filled and emptied with each request again and
   * again.
   */
  readonly #owners = new Map<string, Owner>();
  readonly #changes: Changes = {
    grow: (entry, bytes) => this.#grow(entry, bytes),
    pin: (entry) => this.#pin(entry),
    release: (entry) => this.#release(entry),
  };
  #bytes = 0;
  #pinnedBytes = 0;
  #holds = 0;
  #idleOwners = 0;

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
    if (!owner) this.#owners.set(name, (owner = new Owner()));
    else if (!owner.oldest) this.#idleOwners -= 1;
    this.#holds += 1;
    return owner.add(new Entry(this.#changes, owner, cut));
  }

  #grow(entry: Entry, bytes: number): void {
    if (!entry.isHeld) return;
    entry.bytes += bytes;
    entry.owner.bytes += bytes;
    this.#bytes += bytes;
    this.#cutTheLargest();
  }

  #pin(entry: Entry): boolean {
    const { owner } = entry;
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
      this.#release(largest.entry);
      cut!();
    }
  }

  #release(entry: Entry): void {
    if (!entry.isHeld) return;
    const { owner } = entry;
    owner.remove(entry);
    this.#holds -= 1;
    this.#bytes -= entry.bytes;
    owner.bytes -= entry.bytes;
    if (!entry.cut) {
      this.#pinnedBytes -= entry.bytes;
      owner.pinnedBytes -= entry.bytes;
    }
    if (!owner.oldest) this.#idle();
  }

  #idle(): void {
    this.#idleOwners += 1;
    if (this.#idleOwners <= MAX_IDLE_OWNERS || 2 * this.#idleOwners <= this.#owners.size) return;
    for (const [name, { oldest }] of this.#owners) if (!oldest) this.#owners.delete(name);
    this.#idleOwners = 0;
  }
}

/** The most owners without holds in memory, if there are not more with holds. */
const MAX_IDLE_OWNERS = 64;

/** What a share does for its holds. */
interface Changes {
  readonly grow: (entry: Entry, bytes: number) => void;
  readonly pin: (entry: Entry) => boolean;
  readonly release: (entry: Entry) => void;
}

/** An owner with its holds, oldest first. */
class Owner {
  bytes = 0;
  /** The bytes of pinned holds, which `bytes` includes. */
  pinnedBytes = 0;
  oldest: Entry | null = null;
  #newest: Entry | null = null;

  add(entry: Entry): Entry {
    entry.older = this.#newest;
    if (this.#newest) this.#newest.newer = entry;
    else this.oldest = entry;
    this.#newest = entry;
    return entry;
  }

  remove(entry: Entry): void {
    const { older, newer } = entry;
    if (older) older.newer = newer;
    else this.oldest = newer;
    if (newer) newer.older = older;
    else this.#newest = older;
    entry.older = null;
    entry.newer = null;
    entry.isHeld = false;
  }
}

class Entry implements Hold {
  bytes = 0;
  isHeld = true;
  older: Entry | null = null;
  newer: Entry | null = null;
  readonly owner: Owner;
  /** Null if the hold is pinned. */
  cut: (() => void) | null;
  readonly #changes: Changes;

  constructor(changes: Changes, owner: Owner, cut: () => void) {
    this.#changes = changes;
    this.owner = owner;
    this.cut = cut;
  }

  grow(bytes: number): void {
    this.#changes.grow(this, bytes);
  }

  pin(): boolean {
    return this.#changes.pin(this);
  }

  release(): void {
    this.#changes.release(this);
  }
}

/** Returns the oldest hold of an owner that can be cut. */
function oldestOf({ oldest }: Owner): Entry | null {
  for (let entry = oldest; entry; entry = entry.newer) if (entry.cut && entry.bytes > 0) return entry;
  return null;
}
