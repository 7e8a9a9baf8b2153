/** Memory that a request holds. */
export interface Hold {
  /** Takes more. It may cut this very hold. */
  readonly grow: (bytes: number) => void;
  /**
   * From now on it is not cut, because nothing would be freed by that.
   *
   * @returns false, and then nothing has changed, where the owner has too much that is not cut.
   */
  readonly pin: () => boolean;
  /** Gives back all of it. Further calls do nothing. */
  readonly release: () => void;
}

/**
 * Memory that all requests of one kind share. When they hold too much together, the owner of the most of it loses its
 * oldest: so no number of connections fills the memory, and no owner takes it from the others.
 *
 * What is pinned cannot be cut, so an owner pins at most half of the memory, and less if others have pinned some: as much
 * as then remains for everything else. Without that, one owner could pin all of it, and every other would be cut instead.
 * The first of an owner is always pinned.
 *
 * An owner is a token together with all tokens below it, or the network of a client that has no token: what is counted for
 * a single token is multiplied by issuing more of them.
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

  /** @param cut ends what holds the memory; it is given back by then. */
  hold(name: string, cut: () => void): Hold {
    let owner = this.#owners.get(name);
    if (!owner) this.#owners.set(name, (owner = { name, bytes: 0, pinnedBytes: 0, holds: new Set() }));
    const held: Held = { bytes: 0, cut };
    owner.holds.add(held);
    this.#holds += 1;
    return {
      grow: (bytes) => {
        if (!owner.holds.has(held)) return;
        held.bytes += bytes;
        owner.bytes += bytes;
        this.#bytes += bytes;
        this.#cutTheLargest();
      },
      pin: () => this.#pin(owner, held),
      release: () => this.#release(owner, held),
    };
  }

  #pin(owner: Owner, held: Held): boolean {
    if (!held.cut) return true;
    const mine = owner.pinnedBytes + held.bytes;
    const all = this.#pinnedBytes + held.bytes;
    if (owner.pinnedBytes > 0 && mine + all > this.#maxBytes) return false;
    held.cut = null;
    owner.pinnedBytes = mine;
    this.#pinnedBytes = all;
    return true;
  }

  #cutTheLargest(): void {
    // What is alone is never too much.
    while (this.#bytes > this.#maxBytes && this.#holds > 1) {
      let largest: { owner: Owner; held: Held } | null = null;
      for (const owner of this.#owners.values()) {
        if (largest && owner.bytes <= largest.owner.bytes) continue;
        const held = oldestOf(owner);
        if (held) largest = { owner, held };
      }
      if (!largest) return;
      const { cut } = largest.held;
      this.#release(largest.owner, largest.held);
      cut!();
    }
  }

  #release(owner: Owner, held: Held): void {
    if (!owner.holds.delete(held)) return;
    this.#holds -= 1;
    this.#bytes -= held.bytes;
    owner.bytes -= held.bytes;
    if (!held.cut) {
      this.#pinnedBytes -= held.bytes;
      owner.pinnedBytes -= held.bytes;
    }
    if (owner.holds.size === 0 && this.#owners.get(owner.name) === owner) this.#owners.delete(owner.name);
  }
}

interface Owner {
  readonly name: string;
  bytes: number;
  /** Of these, what is not cut. */
  pinnedBytes: number;
  /** Oldest first. */
  readonly holds: Set<Held>;
}

interface Held {
  bytes: number;
  /** Null where it is not cut. */
  cut: (() => void) | null;
}

function oldestOf({ holds }: Owner): Held | null {
  for (const held of holds) if (held.cut && held.bytes > 0) return held;
  return null;
}
