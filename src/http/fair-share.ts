/** Memory that a request holds. */
export interface Hold {
  /** Takes more. It may cut this very hold. */
  readonly grow: (bytes: number) => void;
  /**
   * From now on it is not cut, because nothing would be freed by that.
   *
   * @returns false, and then nothing has changed, where the holder has too much that is not cut.
   */
  readonly pin: () => boolean;
  /** Gives back all of it. Further calls do nothing. */
  readonly release: () => void;
}

/**
 * Memory that all requests of one kind share. When they hold too much together, the holder of the most of it loses its
 * oldest: so no number of connections fills the memory, and no holder takes it from the others.
 *
 * What is pinned cannot be cut, so a holder pins at most half of the memory, and less if others have pinned some: as much
 * as then remains for everything else. Without that, one holder could pin all of it, and every other would be cut instead.
 * The first of a holder is always pinned.
 *
 * A holder is a token together with all tokens below it, or the network of a client that has no token: what is counted for
 * a single token is multiplied by issuing more of them.
 */
export class FairShare {
  readonly #maxBytes: number;
  readonly #holders = new Map<string, Holder>();
  #bytes = 0;
  #pinnedBytes = 0;
  #holds = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** @param cut ends what holds the memory; it is given back by then. */
  hold(name: string, cut: () => void): Hold {
    let holder = this.#holders.get(name);
    if (!holder) this.#holders.set(name, (holder = { name, bytes: 0, pinnedBytes: 0, holds: new Set() }));
    const held: Held = { bytes: 0, cut };
    holder.holds.add(held);
    this.#holds += 1;
    return {
      grow: (bytes) => {
        if (!holder.holds.has(held)) return;
        held.bytes += bytes;
        holder.bytes += bytes;
        this.#bytes += bytes;
        this.#cutTheLargest();
      },
      pin: () => this.#pin(holder, held),
      release: () => this.#release(holder, held),
    };
  }

  #pin(holder: Holder, held: Held): boolean {
    if (!held.cut) return true;
    const mine = holder.pinnedBytes + held.bytes;
    const all = this.#pinnedBytes + held.bytes;
    if (holder.pinnedBytes > 0 && mine + all > this.#maxBytes) return false;
    held.cut = null;
    holder.pinnedBytes = mine;
    this.#pinnedBytes = all;
    return true;
  }

  #cutTheLargest(): void {
    // What is alone is never too much.
    while (this.#bytes > this.#maxBytes && this.#holds > 1) {
      let largest: { holder: Holder; held: Held } | null = null;
      for (const holder of this.#holders.values()) {
        if (largest && holder.bytes <= largest.holder.bytes) continue;
        const held = oldestOf(holder);
        if (held) largest = { holder, held };
      }
      if (!largest) return;
      const { cut } = largest.held;
      this.#release(largest.holder, largest.held);
      cut!();
    }
  }

  #release(holder: Holder, held: Held): void {
    if (!holder.holds.delete(held)) return;
    this.#holds -= 1;
    this.#bytes -= held.bytes;
    holder.bytes -= held.bytes;
    if (!held.cut) {
      this.#pinnedBytes -= held.bytes;
      holder.pinnedBytes -= held.bytes;
    }
    if (holder.holds.size === 0 && this.#holders.get(holder.name) === holder) this.#holders.delete(holder.name);
  }
}

interface Holder {
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

function oldestOf({ holds }: Holder): Held | null {
  for (const held of holds) if (held.cut && held.bytes > 0) return held;
  return null;
}
