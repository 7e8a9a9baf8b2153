/** The divisor of a share for all clients without a token. The owner of a public task has the rest. */
const PUBLIC_PARTS = 2;
/** The divisor of that part for one network. A record can be large, so a smaller part would hold few records. */
const NETWORK_PARTS = 2;

/** Returns the part of a family's share for the calls of all clients without a token. */
export function publicShare(bytes: number): number {
  return Math.floor(bytes / PUBLIC_PARTS);
}

/** Returns the part of a family's share for the calls of one network without a token. */
export function networkShare(bytes: number): number {
  return Math.floor(publicShare(bytes) / NETWORK_PARTS);
}

/** Returns the name under which the public calls of a family are counted. No family has a line break in its name. */
export function publicPartOf(family: string): string {
  return `${family}\npublic`;
}

/** What the records of each network of clients without a token take of the share of a family. */
export class NetworkShares {
  readonly #most: number;
  readonly #counted: number;
  readonly #bytes = new Map<string, number>();

  /**
   * @param most the bytes of a network in a family
   * @param counted the most networks that are counted apart. The further ones of a family have one share together
   */
  constructor(most: number, counted: number) {
    this.#most = most;
    this.#counted = counted;
  }

  fits(family: string, network: string, bytes: number): boolean {
    return (this.#bytes.get(this.#keyOf(family, network)) ?? 0) + bytes <= this.#most;
  }

  add(family: string, network: string, bytes: number): void {
    const key = this.#keyOf(family, network);
    this.#bytes.set(key, (this.#bytes.get(key) ?? 0) + bytes);
  }

  clear(): void {
    this.#bytes.clear();
  }

  #keyOf(family: string, network: string): string {
    const key = `${family}\n${network}`;
    // Further networks share with those of their own family: one family must not use up the count of all.
    return this.#bytes.has(key) || this.#bytes.size < this.#counted ? key : family;
  }
}
